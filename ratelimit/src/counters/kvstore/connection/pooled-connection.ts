// One connection of a pool: reconnects, with a back-off, until it is closed.
import type { Backoff } from "@weir/common/backoff/backoff";
import { type Connection, type ConnectionListener, connect } from "./connection.ts";
import { silenceError, StoreError } from "../../store-error.ts";
import { replyError } from "../store-errors.ts";
import type { KvstoreAddress } from "../address.ts";
import type { CommandBuffer } from "./command-buffer.ts";
import type { Reply, ReplyReceiver } from "./reply.ts";
import type { KvstoreTlsOptions } from "../options.ts";

/** What a pooled connection works with. */
export interface PooledConnectionDeps {
  /** The current address of the server, for each attempt. */
  readonly target: () => KvstoreAddress;
  readonly tls: KvstoreTlsOptions | undefined;
  readonly listener: PooledConnectionListener;
  /** Where commands are built. */
  readonly commands: CommandBuffer;
  /** Waits between attempts until the first success. */
  readonly startBackoff: Backoff;
  /** Waits between later attempts; starts over with each connection that proves useful. */
  readonly reconnectBackoff: Backoff;
}

/** Options of each attempt. */
export interface PooledConnectionOptions {
  readonly connectTimeoutMs: number;
  /** Whether a server that says it is a replica is refused. */
  readonly wantsPrimary: boolean;
}

/** Receives the events of a pooled connection. */
export interface PooledConnectionListener {
  /** Commands can be written now. */
  connectionReady(connection: PooledConnection): void;
  /**
   * A working connection was lost. Commands without a reply fail by themselves; a new attempt
   * follows.
   */
  connectionLost(connection: PooledConnection, cause: unknown): void;
  /** An attempt failed; the next one follows. */
  connectionFailed(connection: PooledConnection, cause: unknown): void;
}

type State =
  | { readonly kind: "closed" }
  | { readonly kind: "waiting"; readonly timer: NodeJS.Timeout }
  | { readonly kind: "connecting" | "ready"; readonly connection: Connection };

/** A connection that is replaced when it is lost. */
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

  /** Registers the receiver of the replies to the commands that were just added, only when ready. */
  expect(receiver: ReplyReceiver): void {
    this.#ready().expect(receiver);
  }

  /** Writes the commands that were added in one piece, only when ready. */
  flush(): void {
    this.#ready().flush();
  }

  /**
   * Sends one command, only when ready; fails with STORE_UNAVAILABLE or STORE_TIMEOUT. `text` is
   * the server for messages.
   */
  async query(
    { command, args }: { readonly command: string; readonly args: readonly string[] },
    { timeoutMs, text }: { readonly timeoutMs: number; readonly text: string },
  ): Promise<Reply> {
    const silence = Promise.withResolvers<never>();
    const timer = setTimeout(() => silence.reject(silenceError(text, timeoutMs)), timeoutMs);
    const answer = this.#ready().query(command, ...args);
    try {
      return await Promise.race([answer, silence.promise]);
    } catch (error) {
      throw error instanceof StoreError ? error : replyError(text, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes the current connection, if any, and connects again. */
  reset(cause: unknown): void {
    if (this.#state.kind === "ready") this.#state.connection.close(cause);
  }

  /** Connects now, unless it is ready or closed: an attempt that is under way may never end. */
  reconnect(): void {
    const state = this.#state;
    if (state.kind !== "waiting" && state.kind !== "connecting") return;
    this.close();
    this.#connect();
  }

  /** Closes the current connection, if any; it stays closed until it is opened again. */
  disconnect(cause: unknown): void {
    const state = this.#state;
    this.#deps.reconnectBackoff.reset();
    this.close();
    if (state.kind === "ready") this.#deps.listener.connectionLost(this, cause);
  }

  /** Closes the connection; the listener is not called any more. */
  close(): void {
    const state = this.#state;
    this.#state = { kind: "closed" };
    if (state.kind === "waiting") clearTimeout(state.timer);
    else if (state.kind !== "closed") state.connection.close(new Error("closed"));
  }

  #connect(): void {
    const { target, tls, commands } = this.#deps;
    const listener: ConnectionListener = {
      ready: () => this.#becameReady(),
      // Not before: a demoted primary accepts every connection, and refuses the commands.
      useful: () => this.#deps.reconnectBackoff.reset(),
      closed: (cause) => this.#closed(cause),
    };
    const connection = connect({ address: target(), tls, listener, commands }, this.#options);
    this.#state = { kind: "connecting", connection };
  }

  #ready(): Connection {
    const state = this.#state;
    if (state.kind !== "ready") throw new Error(`A connection was written to while it was ${state.kind}`);
    return state.connection;
  }

  #becameReady(): void {
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
