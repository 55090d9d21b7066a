// One place in the pool of a server: always on its way to a connection that works, with a back-off
// between attempts, until it is closed.
import type { Backoff } from "@weir/common/backoff/backoff";
import { type Connection, type ConnectionListener, connect } from "./connection.ts";
import { silenceError } from "../../connection-errors.ts";
import { isUselessConnection, replyError } from "../store-errors.ts";
import type { CommandSink, Reply } from "./command-sink.ts";
import type { KvstoreAddress } from "../address.ts";
import type { KvstoreTlsOptions } from "../options.ts";

/** What a connection works with. */
export interface PooledConnectionDeps {
  /** Where the server is now: asked at each connect. */
  readonly target: () => KvstoreAddress;
  readonly tls: KvstoreTlsOptions | undefined;
  readonly listener: PooledConnectionListener;
  /** Waits between attempts until a connection worked for the first time. */
  readonly startBackoff: Backoff;
  /** Waits between attempts afterwards; it starts over with each connection that proves useful. */
  readonly reconnectBackoff: Backoff;
}

/** What each connection of a connection is made with. */
export interface PooledConnectionOptions {
  readonly connectTimeoutMs: number;
  /** Whether a server that says it is a replica is refused. */
  readonly wantsPrimary: boolean;
}

/** What a connection tells its server. */
export interface PooledConnectionListener {
  /** Commands can be written now. */
  connectionReady(connection: PooledConnection): void;
  /**
   * A connection that worked is gone. What was written and not answered fails by itself; a new
   * attempt is under way.
   */
  connectionLost(connection: PooledConnection, cause: unknown): void;
  /** An attempt failed; the next one comes by itself. */
  connectionFailed(connection: PooledConnection, cause: unknown): void;
}

type State =
  | { readonly kind: "closed" }
  | { readonly kind: "waiting"; readonly timer: NodeJS.Timeout }
  | { readonly kind: "connecting" | "ready"; readonly connection: Connection };

/** A place in the pool. */
export class PooledConnection {
  readonly #deps: PooledConnectionDeps;
  readonly #options: PooledConnectionOptions;
  #state: State = { kind: "closed" };
  #wasReady = false;

  constructor(deps: PooledConnectionDeps, options: PooledConnectionOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Whether commands can be written. */
  get isReady(): boolean {
    return this.#state.kind === "ready";
  }

  /** Begins to connect. */
  open(): void {
    if (this.#state.kind === "closed") this.#connect();
  }

  /**
   * Writes commands in one piece; only when ready. A reply that says the connection is of no use
   * ends it.
   */
  write(fill: (sink: CommandSink) => void, settle: (replies: readonly Reply[]) => void): void {
    const state = this.#state;
    if (state.kind !== "ready") throw new Error(`A connection was written to while it was ${state.kind}`);
    state.connection.write(fill, (replies) => {
      settle(replies);
      const useless = replies.find(([error]) => isUselessConnection(error));
      if (useless !== undefined) state.connection.close(useless[0]);
      // Not before: a demoted primary takes every connection, only to refuse what comes over it.
      else if (replies.some(([error]) => error === null)) this.#deps.reconnectBackoff.reset();
    });
  }

  /**
   * Sends one command, only when ready; fails with STORE_UNAVAILABLE, or STORE_TIMEOUT. `text` is
   * the server for messages.
   */
  query(
    { command, args }: { readonly command: string; readonly args: string[] },
    { timeoutMs, text }: { readonly timeoutMs: number; readonly text: string },
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(silenceError(text, timeoutMs)), timeoutMs);
      this.write(
        (sink) => sink.call(command, ...args),
        ([reply]) => {
          clearTimeout(timer);
          const [error, value] = reply ?? [new Error("the reply is missing"), undefined];
          if (error === null) resolve(value);
          else reject(replyError(text, error));
        },
      );
    });
  }

  /** Ends the connection in use, if any, and dials again. */
  reset(cause: unknown): void {
    if (this.#state.kind === "ready") this.#state.connection.close(cause);
  }

  /** Ends the connection in use, if any, and dials no more until it is opened again. */
  disconnect(cause: unknown): void {
    const state = this.#state;
    this.#deps.reconnectBackoff.reset();
    this.close();
    if (state.kind === "ready") this.#deps.listener.connectionLost(this, cause);
  }

  /** Ends everything; nothing is told to the listener any more. */
  close(): void {
    const state = this.#state;
    this.#state = { kind: "closed" };
    if (state.kind === "waiting") clearTimeout(state.timer);
    else if (state.kind !== "closed") state.connection.close(new Error("closed"));
  }

  #connect(): void {
    const { target, tls } = this.#deps;
    const listener: ConnectionListener = { ready: () => this.#ready(), closed: (cause) => this.#closed(cause) };
    this.#state = { kind: "connecting", connection: connect({ address: target(), tls, listener }, this.#options) };
  }

  #ready(): void {
    if (this.#state.kind !== "connecting") return;
    this.#state = { kind: "ready", connection: this.#state.connection };
    this.#wasReady = true;
    this.#deps.listener.connectionReady(this);
  }

  #closed(cause: unknown): void {
    const { kind } = this.#state;
    if (kind !== "connecting" && kind !== "ready") return;
    const waitMs = (this.#wasReady ? this.#deps.reconnectBackoff : this.#deps.startBackoff).nextMs();
    this.#state = { kind: "waiting", timer: setTimeout(() => this.#connect(), waitMs) };
    if (kind === "ready") this.#deps.listener.connectionLost(this, cause);
    else this.#deps.listener.connectionFailed(this, cause);
  }
}
