// One connection through ioredis for what is not on the path of a decision: questions to sentinels and
// cluster nodes, and subscriptions. Only this file and socket-connector.ts use ioredis.
import { Redis } from "ioredis";
import type { KvstoreAddress } from "../address.ts";
import type { KvstoreTlsOptions } from "../options.ts";
import type { ConnectionListener } from "./connection.ts";
import { socketOptions } from "./socket.ts";
import { SocketConnector } from "./socket-connector.ts";

/** TCP keep-alive of idle connections, in milliseconds; as in envoyproxy/ratelimit. */
const KEEP_ALIVE_MS = 10_000;

/** Connects to a server. The listener is called after this function returns. */
export function connectForQueries(
  deps: {
    readonly address: KvstoreAddress;
    readonly tls: KvstoreTlsOptions | undefined;
    readonly listener: ConnectionListener;
  },
  options: { readonly connectTimeoutMs: number },
): QueryConnection {
  return new QueryConnection(deps, options.connectTimeoutMs);
}

/** A connection. Commands may be sent between `ready` and `closed`. */
export class QueryConnection {
  readonly #redis: Redis;
  readonly #listener: ConnectionListener;
  readonly #address: KvstoreAddress;
  readonly #timer: NodeJS.Timeout;
  #cause: unknown;
  #isClosed = false;

  constructor(
    {
      address,
      tls,
      listener,
    }: {
      readonly address: KvstoreAddress;
      readonly tls: KvstoreTlsOptions | undefined;
      readonly listener: ConnectionListener;
    },
    connectTimeoutMs: number,
  ) {
    this.#address = address;
    this.#listener = listener;
    this.#timer = setTimeout(
      () => this.close(new Error(`no connection within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    this.#redis = new Redis({
      ...socketOptions(address, tls),
      Connector: SocketConnector,
      lazyConnect: true,
      // Reconnecting, waiting and time-outs are done here: a question never waits without bound.
      retryStrategy: null,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: null,
      enableReadyCheck: false,
      disableClientInfo: true,
      keepAlive: KEEP_ALIVE_MS,
      protocol: 2,
    });
    this.#redis.on("error", (cause) => (this.#cause ??= cause));
    this.#redis.on("ready", () => this.#introduce());
    this.#redis.on("end", () => this.#end());
    void this.#redis.connect((cause) => {
      // A refused connection also emits "end"; a socket that could not be made, as with an
      // unreadable certificate, does not always.
      if (cause !== undefined && cause !== null) this.close(cause);
    });
  }

  /**
   * Sends one command; fails with the error of the server, or with that of the connection when it
   * ends first.
   */
  query(command: string, ...args: string[]): Promise<unknown> {
    return this.#redis.call(command, ...args);
  }

  /** Subscribes to a channel; only `close` may be called afterwards. Fails as `query` does. */
  async subscribe(channel: string, hear: (message: string) => void): Promise<void> {
    this.#redis.on("message", (_channel, message) => hear(message));
    await this.#redis.subscribe(channel);
  }

  /** Ends the connection; the listener is called before this returns. */
  close(cause: unknown): void {
    this.#cause ??= cause;
    this.#end();
    this.#redis.disconnect();
  }

  /** Sends AUTH, SELECT and PING in one piece. The connection is ready with a PONG. */
  #introduce(): void {
    const { auth, database } = this.#address;
    const pipeline = this.#redis.pipeline();
    if (auth !== undefined) pipeline.call("AUTH", ...auth().map((secret) => secret.reveal()));
    if (database > 0) pipeline.select(database);
    pipeline.ping();
    void pipeline.exec((_error, replies) => {
      if (this.#isClosed) return;
      const failure = replies?.find(([error]) => error !== null)?.[0];
      const last = replies?.[replies.length - 1]?.[1];
      // Only the message is passed on: the error of ioredis contains the command, and with it the
      // password.
      if (failure !== undefined && failure !== null) this.close(new Error(failure.message));
      else if (last !== "PONG") this.close(new Error(`the server answered PING with ${String(last)}`));
      else this.#begin();
    });
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#listener.ready();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#listener.closed(this.#cause ?? new Error("the server closed the connection"));
  }
}
