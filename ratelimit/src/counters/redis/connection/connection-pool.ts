// The connections to one server: opens them, and picks one for each batch.
import { Backoff } from "@weir/common/backoff/backoff";
import type { RedisAddress } from "../address.ts";
import type { CommandBuffer } from "./command-buffer.ts";
import { PooledConnection, type PooledConnectionListener } from "./pooled-connection.ts";
import type { RedisCounterOptions, RedisServerOptions } from "../options.ts";
import type { PoolStatistics } from "./pool-statistics.ts";

/**
 * Waits between attempts to reach a server that was lost, in milliseconds; as in
 * envoyproxy/ratelimit.
 */
const RECONNECT_INITIAL_MS = 125;
const RECONNECT_MAX_MS = 4_000;

/** The longest such wait where a primary is required: a replica may be promoted at any moment. */
const RECONNECT_PRIMARY_MAX_MS = 1_000;

export interface ConnectionPoolDeps {
  /** The current address of the server, for each new connection. */
  readonly target: () => RedisAddress;
  readonly listener: PooledConnectionListener;
  readonly random: () => number;
  readonly statistics: PoolStatistics;
  /** The buffer in which commands are built. */
  readonly commands: CommandBuffer;
}

export interface ConnectionPoolOptions {
  readonly server: RedisServerOptions;
  readonly startup: RedisCounterOptions["startup"];
  /** True if a server that reports the role of a replica is refused. */
  readonly wantsPrimary: boolean;
}

/** A pool of connections, all closed at first. */
export class ConnectionPool {
  readonly #connections: readonly PooledConnection[];
  readonly #statistics: PoolStatistics;
  /** End the subscriptions to what connections are made with. */
  readonly #unsubscribe: readonly (() => void)[];
  #next = 0;

  constructor(deps: ConnectionPoolDeps, { server, startup, wantsPrimary }: ConnectionPoolOptions) {
    const { target, listener, random, statistics, commands } = deps;
    const backoff = (initialMs: number, maxMs: number) =>
      new Backoff({ initialMs, maxMs, factor: 1, jitter: true, random });
    const replaced = (): void => {
      statistics.closing();
      statistics.opened(); // Before the loss: there is always one.
      statistics.lost();
    };
    this.#connections = Array.from({ length: server.poolSize }, () => {
      const startBackoff = backoff(startup.initialMs, startup.maxMs);
      const reconnectBackoff = backoff(
        RECONNECT_INITIAL_MS,
        wantsPrimary ? RECONNECT_PRIMARY_MAX_MS : RECONNECT_MAX_MS,
      );
      return new PooledConnection(
        { target, tls: server.tls, listener, replaced, commands, startBackoff, reconnectBackoff },
        { connectTimeoutMs: server.connectTimeoutMs, wantsPrimary },
      );
    });
    this.#statistics = statistics;
    const renew = (): void => {
      for (const connection of this.#connections) connection.renew();
    };
    const { auth, url, tls } = server;
    this.#unsubscribe = [auth?.onChange(renew), url.onChange(renew), tls?.onChange?.(renew)].filter(
      (each) => each !== undefined,
    );
  }

  /** True while any connection works. */
  get isReady(): boolean {
    return this.#connections.some((connection) => connection.isReady);
  }

  /** Opens the first connection, for which the start waits. */
  openFirst(): void {
    this.#connections[0]?.open();
  }

  /** Opens the connections that are still closed. */
  openAll(): void {
    for (const connection of this.#connections) connection.open();
  }

  /** Connects those that are not ready now: the server answers again. */
  reconnect(): void {
    for (const connection of this.#connections) connection.reconnect();
  }

  /** Closes all connections; they stay closed until they are opened again. */
  disconnect(cause: unknown): void {
    for (const connection of this.#connections) {
      if (connection.isReady) this.#statistics.closing();
      connection.disconnect(cause);
    }
  }

  /** Closes all connections; the backend is stopping. */
  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const connection of this.#connections) {
      const wasReady = connection.isReady;
      connection.close();
      if (!wasReady) continue;
      this.#statistics.closing();
      this.#statistics.lost();
    }
  }

  /** The next working connection, round-robin. */
  pick(): PooledConnection | undefined {
    const { length } = this.#connections;
    for (let tries = 0; tries < length; tries++) {
      this.#next = (this.#next + 1) % length;
      const connection = this.#connections[this.#next];
      if (connection?.isReady === true) return connection;
    }
    return undefined;
  }

  /** Closes a connection; it connects again. */
  reset(connection: PooledConnection, cause: unknown): void {
    if (connection.isReady) this.#statistics.closing();
    connection.reset(cause);
  }

  /** To be called when a connection became ready. */
  noteReady(): void {
    this.#statistics.opened();
  }

  /** To be called when a connection was lost. */
  noteLost(): void {
    this.#statistics.lost();
  }
}
