// One connection of a client that writes bytes to a listener, and waits until what came back is enough,
// the server closes, or nothing happens for a while.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls, type SecureContext } from "node:tls";

/**
 * How long the opening of a connection may take, in milliseconds: much more than it does, and less
 * than the test has.
 */
const CONNECT_TIMEOUT_MS = 60_000;

/** Time between two attempts to be taken, in milliseconds. */
const RETRY_MS = 5;

/** The address of a listener. */
export type WireAddress =
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tls"; readonly port: number; readonly context: SecureContext };

/** A connection. */
export class Wire {
  /** Receives everything that comes back. */
  onData: (chunk: Buffer) => void = () => undefined;
  isClosed = false;
  readonly #socket: Socket;
  #check: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.onData(chunk);
      this.#check();
    });
    socket.on("close", () => {
      this.isClosed = true;
      this.#check();
    });
    // A reset by the server: "close" follows, and that is all there is to know.
    socket.on("error", () => undefined);
  }

  /**
   * Opens a connection; a listener that does not take it fails the run. `isPlain` speaks to a TLS
   * listener without TLS.
   */
  static async open(address: WireAddress, isPlain = false): Promise<Wire> {
    const deadlineMs = performance.now() + CONNECT_TIMEOUT_MS;
    for (;;) {
      const socket = connectTo(address, isPlain);
      const ready = address.kind === "tls" && !isPlain ? "secureConnect" : "connect";
      try {
        await once(socket, ready, { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
        return new Wire(socket);
      } catch (cause) {
        socket.destroy();
        // A unix socket says so when too many wait to be taken; TCP waits by itself.
        const isFull = cause instanceof Error && cause.message.includes("EAGAIN") && performance.now() < deadlineMs;
        const where = address.kind === "unix" ? address.path : `127.0.0.1:${address.port}`;
        if (!isFull) throw new Error(`Cannot connect to ${where}: ${String(cause)}`, { cause });
        await delay(RETRY_MS);
      }
    }
  }

  write(bytes: Buffer): void {
    if (!this.isClosed) this.#socket.write(bytes);
  }

  /** Waits until `isDone`, at most so long or until the end of the connection; resolves with whether it is. */
  until(isDone: () => boolean, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#check = () => undefined;
        resolve(isDone());
      };
      const timer = setTimeout(settle, timeoutMs);
      this.#check = () => {
        if (this.isClosed || isDone()) settle();
      };
      this.#check();
    });
  }

  /** Sends the end, waits a moment for the server's, and closes the connection. */
  async finish(timeoutMs: number): Promise<void> {
    this.#socket.end();
    await this.until(() => this.isClosed, timeoutMs);
    this.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

function connectTo(address: WireAddress, isPlain: boolean): Socket {
  if (address.kind === "unix") return connect(address.path);
  const { port } = address;
  if (address.kind === "tcp" || isPlain) return connect({ host: "127.0.0.1", port, noDelay: true });
  const { context: secureContext } = address;
  return connectTls({ host: "127.0.0.1", port, secureContext, servername: "localhost", ALPNProtocols: ["h2"] });
}
