// One connection of a pool: reconnects, with a back-off, until it is closed.
import type { Backoff } from "@weir/common/backoff/backoff";
import { type Connection, type ConnectionListener, connect } from "./connection.ts";
import type { RedisAddress } from "../address.ts";
import type { CommandBuffer } from "./command-buffer.ts";
import type { ReplyReceiver } from "./reply.ts";
import type { RedisTlsOptions } from "../options.ts";

export interface PooledConnectionDeps {
  /** The current address of the server, for each attempt. */
  readonly target: () => RedisAddress;
  readonly tls: RedisTlsOptions | undefined;
  readonly listener: PooledConnectionListener;
  /** Called when a new connection has taken the place of a working one; nothing was lost. */
  readonly replaced: () => void;
  /** The buffer in which commands are built. */
  readonly commands: CommandBuffer;
  /** Waits between attempts until the first success. */
  readonly startBackoff: Backoff;
  /** Waits between later attempts; starts over with each connection that proves useful. */
  readonly reconnectBackoff: Backoff;
}

/** Options of each attempt. */
export interface PooledConnectionOptions {
  readonly connectTimeoutMs: number;
  /** True if a server that reports the role of a replica is refused. */
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
  /** A new connection that was to take the place of a working one failed; the next attempt follows. */
  replacementFailed(connection: PooledConnection, cause: unknown): void;
}

type State =
  | { readonly kind: "closed" }
  | { readonly kind: "waiting"; readonly timer: NodeJS.Timeout }
  | { readonly kind: "connecting"; readonly connection: Connection }
  | { readonly kind: "ready"; readonly connection: Connection };

/** The connection that is to take the place of a working one, or the wait for the next attempt. */
type Replacement = Extract<State, { readonly kind: "waiting" | "connecting" }>;

/** A connection that is replaced when it is lost. */
export class PooledConnection {
  readonly #deps: PooledConnectionDeps;
  readonly #options: PooledConnectionOptions;
  #state: State = { kind: "closed" };
  /** Only while the connection is ready. */
  #replacement: Replacement | undefined;
  #wasReady = false;

  constructor(deps: PooledConnectionDeps, options: PooledConnectionOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** True while commands can be written. */
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

  /**
   * Connects with the present credentials and certificates. A connection that is ready stays until the
   * new one is ready too, and closes when its replies have arrived.
   */
  renew(): void {
    this.reconnect();
    if (this.#state.kind !== "ready") return;
    this.#dropReplacement();
    this.#connectReplacement();
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
    this.#dropReplacement();
    if (state.kind === "waiting") clearTimeout(state.timer);
    else if (state.kind !== "closed") state.connection.close(new Error("closed"));
  }

  #connect(): void {
    this.#state = { kind: "connecting", connection: this.#newConnection() };
  }

  #connectReplacement(): void {
    this.#replacement = { kind: "connecting", connection: this.#newConnection() };
  }

  #newConnection(): Connection {
    const { target, tls, commands } = this.#deps;
    const listener: ConnectionListener = {
      ready: () => (this.#isReplacement(connection) ? this.#replace(connection) : this.#becameReady()),
      // Not before: a demoted primary accepts every connection, and refuses the commands.
      useful: () => this.#deps.reconnectBackoff.reset(),
      closed: (cause) => {
        if (this.#isReplacement(connection)) this.#replacementClosed(cause);
        else if (this.#isCurrent(connection)) this.#closed(cause);
      },
    };
    const connection = connect({ address: target(), tls, listener, commands }, this.#options);
    return connection;
  }

  #isReplacement(connection: Connection): boolean {
    return this.#replacement?.kind === "connecting" && this.#replacement.connection === connection;
  }

  #isCurrent(connection: Connection): boolean {
    const state = this.#state;
    return (state.kind === "connecting" || state.kind === "ready") && state.connection === connection;
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

  #replace(connection: Connection): void {
    const before = this.#ready();
    this.#replacement = undefined;
    this.#state = { kind: "ready", connection };
    before.retire(this.#options.connectTimeoutMs);
    this.#deps.replaced();
  }

  #closed(cause: unknown): void {
    const { kind } = this.#state;
    this.#dropReplacement();
    this.#state = { kind: "waiting", timer: setTimeout(() => this.#connect(), this.#nextWaitMs()) };
    if (kind === "ready") this.#deps.listener.connectionLost(this, cause);
    else this.#deps.listener.connectionFailed(this, cause);
  }

  #replacementClosed(cause: unknown): void {
    const timer = setTimeout(() => this.#connectReplacement(), this.#nextWaitMs());
    this.#replacement = { kind: "waiting", timer };
    this.#deps.listener.replacementFailed(this, cause);
  }

  #dropReplacement(): void {
    const replacement = this.#replacement;
    this.#replacement = undefined;
    if (replacement?.kind === "waiting") clearTimeout(replacement.timer);
    else replacement?.connection.close(new Error("closed"));
  }

  #nextWaitMs(): number {
    return (this.#wasReady ? this.#deps.reconnectBackoff : this.#deps.startBackoff).nextMs();
  }
}
