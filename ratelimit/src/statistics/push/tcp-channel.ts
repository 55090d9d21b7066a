// Sends lines to a server over TCP, in bounded memory. Reconnects when the connection is lost; what
// was not completely sent is dropped, because sent twice it would count twice.
import { connect, type Socket } from "node:net";
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import type { Log } from "@weir/common/log/log";
import { formatAddress } from "@weir/common/net/listen";
import { LineChannel } from "./line-channel.ts";

/** Bytes of a packet; envoyproxy/ratelimit has a buffer of this size. */
const PACKET_MAX_BYTES = 65_536;

/**
 * Longest wait for a connection, for a write, and before the next attempt, in milliseconds; as in
 * envoyproxy/ratelimit.
 */
const CONNECT_TIMEOUT_MS = 1500;
const WRITE_TIMEOUT_MS = 1000;
const RECONNECT_MS = 3000;

/** Longest wait for the end of a connection that is closed, in milliseconds. */
const CLOSE_MAX_MS = 1000;

/** The address of the server, and times for tests. */
export interface TcpChannelOptions {
  readonly host: string;
  readonly port: number;
  /** Default 1 s. */
  readonly writeTimeoutMs?: number;
  /** Default 3 s. */
  readonly reconnectMs?: number;
}

type State =
  | { readonly kind: "closed" }
  | { readonly kind: "connecting"; readonly socket: Socket }
  | { readonly kind: "connected"; readonly socket: Socket; writeTimer: NodeJS.Timeout | undefined }
  | { readonly kind: "waiting" };

/** The channel. */
export class TcpChannel extends LineChannel {
  readonly #options: TcpChannelOptions;
  readonly #connecting: RetryLoop;
  #state: State = { kind: "closed" };

  constructor({ log }: { readonly log: Log }, options: TcpChannelOptions) {
    super(log, PACKET_MAX_BYTES, formatAddress(options));
    this.#options = options;
    const waitMs = options.reconnectMs ?? RECONNECT_MS;
    this.#connecting = new RetryLoop(() => this.#connect(), {
      initialMs: waitMs,
      maxMs: waitMs,
      factor: 0,
      jitter: false,
      random: Math.random,
    });
  }

  open(): void {
    this.#connecting.start();
  }

  isReady(): boolean {
    return this.#state.kind === "connected";
  }

  protected isIdle(): boolean {
    const state = this.#state;
    return state.kind !== "connected" || (state.writeTimer === undefined && this.queue.isEmpty);
  }

  protected async end(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: "closed" };
    this.#connecting.stop();
    if (state.kind === "connecting") state.socket.destroy();
    if (state.kind !== "connected") return;
    clearTimeout(state.writeTimer);
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    state.socket.once("close", () => resolve());
    // Ends after what was written; a connection that hangs even then is cut.
    const timer = setTimeout(() => state.socket.destroy(), CLOSE_MAX_MS);
    state.socket.destroySoon();
    await gone;
    clearTimeout(timer);
  }

  #connect(): void {
    const { host, port } = this.#options;
    const socket = connect({ host, port, noDelay: true });
    let reason: unknown = new Error("the server closed the connection");
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`)),
      CONNECT_TIMEOUT_MS,
    );
    this.#state = { kind: "connecting", socket };
    socket.on("connect", () => {
      clearTimeout(timer);
      this.#state = { kind: "connected", socket, writeTimer: undefined };
      this.reached();
      this.send();
    });
    socket.on("error", (error) => (reason = error));
    socket.on("close", () => {
      clearTimeout(timer);
      this.#lose(socket, reason);
    });
    // Servers do not answer; any data is read, so that the end of the connection is noticed.
    socket.resume();
  }

  /** Writes the next packet; one at a time, so that each has its time limit. */
  protected send(): void {
    const state = this.#state;
    if (state.kind !== "connected" || state.writeTimer !== undefined) return;
    const text = this.queue.take();
    if (text === undefined) {
      this.settle();
      return;
    }
    const limitMs = this.#options.writeTimeoutMs ?? WRITE_TIMEOUT_MS;
    state.writeTimer = setTimeout(
      () => state.socket.destroy(new Error(`the server took nothing for ${limitMs} ms`)),
      limitMs,
    );
    state.socket.write(text, (error) => {
      clearTimeout(state.writeTimer);
      if (error !== undefined && error !== null) return; // "close" follows.
      state.writeTimer = undefined;
      this.send();
    });
  }

  #lose(socket: Socket, reason: unknown): void {
    const state = this.#state;
    if ((state.kind !== "connecting" && state.kind !== "connected") || state.socket !== socket) return;
    if (state.kind === "connected") clearTimeout(state.writeTimer);
    this.#state = { kind: "waiting" };
    this.#connecting.retry();
    this.lost(reason);
    this.settle();
  }
}
