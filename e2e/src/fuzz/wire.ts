// One connection of the fuzzer to a listener: it writes bytes, and waits until something comes
// back, the server closes, or nothing happens for a while.
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as tlsConnect, type SecureContext } from "node:tls";

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
  /** Hears everything that comes back; answers whether it is what the wait is for. */
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

  static #openOnce(address: WireAddress, isPlain: boolean): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = dial(address, isPlain);
      const ready = address.kind === "tls" && !isPlain ? "secureConnect" : "connect";
      const timer = setTimeout(() => {
        socket.destroy();
        reject(new Error(`No connection to ${describe(address)} within ${CONNECT_TIMEOUT_MS} ms`));
      }, CONNECT_TIMEOUT_MS);
      const fail = (cause: Error): void => {
        clearTimeout(timer);
        reject(new Error(`Cannot connect to ${describe(address)}: ${cause.message}`, { cause }));
      };
      socket.once("error", fail);
      socket.once(ready, () => {
        clearTimeout(timer);
        socket.off("error", fail);
        resolve(new Wire(socket));
      });
    });
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

function dial(address: WireAddress, isPlain: boolean): Socket {
  if (address.kind === "unix") return connect(address.path);
  if (address.kind === "tls" && !isPlain)
    return tlsConnect({
      host: "127.0.0.1",
      port: address.port,
      secureContext: address.context,
      servername: "localhost",
      ALPNProtocols: ["h2"],
    });
  return connect({ host: "127.0.0.1", port: address.port, noDelay: true });
}

function describe(address: WireAddress): string {
  return address.kind === "unix" ? address.path : `127.0.0.1:${address.port}`;
}
