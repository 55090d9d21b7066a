// One connection of the fuzzer to a listener: it writes bytes, and waits until something comes
// back, the server closes, or nothing happens for a while.
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

/** Where a listener listens. */
export type WireAddress =
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tls"; readonly port: number; readonly context: SecureContext };

/** How a wait ended. */
export type WireEvent = "answered" | "closed" | "quiet";

/** A connection. */
export class Wire {
  readonly #socket: Socket;
  #isClosed = false;
  #waiting: ((event: WireEvent) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Receives everything that comes back; returns whether it is what the wait is for. */
  onData: (chunk: Buffer) => boolean = () => true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      if (this.onData(chunk)) this.#settle("answered");
    });
    socket.on("close", () => {
      this.#isClosed = true;
      this.#settle("closed");
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
      try {
        return await Wire.#openOnce(address, isPlain);
      } catch (error) {
        // A unix socket says so when too many wait to be taken; TCP waits by itself.
        if (!(error instanceof Error && error.message.includes("EAGAIN")) || performance.now() > deadlineMs)
          throw error;
        await delay(RETRY_MS);
      }
    }
  }

  static async #openOnce(address: WireAddress, isPlain: boolean): Promise<Wire> {
    const socket = connectTo(address, isPlain);
    const ready = address.kind === "tls" && !isPlain ? "secureConnect" : "connect";
    try {
      await once(socket, ready, { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    } catch (cause) {
      socket.destroy();
      const where = address.kind === "unix" ? address.path : `127.0.0.1:${address.port}`;
      throw new Error(`Cannot connect to ${where}: ${String(cause)}`, { cause });
    }
    return new Wire(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  write(bytes: Buffer): void {
    if (!this.#isClosed) this.#socket.write(bytes);
  }

  /** Waits for what `onData` calls an answer. */
  wait(quietMs: number): Promise<WireEvent> {
    if (this.#isClosed) return Promise.resolve("closed");
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#timer = setTimeout(() => this.#settle("quiet"), quietMs);
    });
  }

  /** Sends the end and waits a moment for the server's. */
  async finish(quietMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.onData = () => false;
    this.#socket.end();
    await this.wait(quietMs);
    this.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #settle(event: WireEvent): void {
    clearTimeout(this.#timer);
    const resolve = this.#waiting;
    this.#waiting = undefined;
    resolve?.(event);
  }
}

function connectTo(address: WireAddress, isPlain: boolean): Socket {
  if (address.kind === "unix") return connect(address.path);
  const { port } = address;
  if (address.kind === "tcp" || isPlain) return connect({ host: "127.0.0.1", port, noDelay: true });
  const { context: secureContext } = address;
  return connectTls({ host: "127.0.0.1", port, secureContext, servername: "localhost", ALPNProtocols: ["h2"] });
}
