// Asks servers where the primary is, and which node has which slots, each on a connection of its own. Only
// this file uses ioredis; every command of a decision goes through connection.ts.
import type { Socket } from "node:net";
import { AbstractConnector, Redis } from "ioredis";
import type { RedisAddress } from "../address.ts";
import { openSocket, type SocketOptions, socketOptions } from "../connection/socket.ts";
import type { RedisTlsOptions } from "../options.ts";
import { connectionError } from "../store-errors.ts";

/** TCP keep-alive of idle connections, in milliseconds; as in envoyproxy/ratelimit. */
const KEEP_ALIVE_MS = 10_000;

/** A sentinel or a cluster node, and how long to wait for it. */
export interface TopologyServer {
  readonly address: RedisAddress;
  readonly tls: RedisTlsOptions | undefined;
  /** Longest wait for an answer, the connection included. */
  readonly timeoutMs: number;
  /** Ends the connection. */
  readonly signal: AbortSignal;
}

/** Sends one command; fails with the error of the server. */
export type Query = (command: string, ...args: readonly string[]) => Promise<unknown>;

/** Receives the events of a subscription. */
export interface SubscriptionListener {
  /** Messages arrive from now on. */
  readonly subscribed: () => void;
  readonly received: (message: string) => void;
}

/** Asks a question of one or several commands. Fails with STORE_UNAVAILABLE. */
export function ask<Answer>(server: TopologyServer, question: (query: Query) => Promise<Answer>): Promise<Answer> {
  return connected(server, (redis) => question((command, ...args) => redis.call(command, ...args)));
}

/** Subscribes to a channel, for as long as the connection lasts. Fails with STORE_UNAVAILABLE. */
export function subscribe(server: TopologyServer, channel: string, listener: SubscriptionListener): Promise<never> {
  return connected(server, async (redis, stopWaiting) => {
    redis.on("message", (_channel, message) => listener.received(message));
    await redis.subscribe(channel);
    stopWaiting();
    listener.subscribed();
    return await new Promise<never>(() => undefined); // Until the connection ends.
  });
}

/** Connects, authenticates, and closes the connection when `use` is done. */
async function connected<Result>(
  { address, tls, timeoutMs, signal }: TopologyServer,
  use: (redis: Redis, stopWaiting: () => void) => Promise<Result>,
): Promise<Result> {
  if (signal.aborted) throw connectionError(address.text, new Error("closed"));
  const end = Promise.withResolvers<never>();
  const closed = (): void => end.reject(new Error("closed"));
  signal.addEventListener("abort", closed);
  const timer = setTimeout(() => end.reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const redis = new Redis({
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
  redis.on("error", end.reject);
  redis.on("end", () => end.reject(new Error("the server closed the connection")));
  const run = async (): Promise<Result> => {
    await redis.connect();
    // Not with the options of ioredis: it continues when a server has no password.
    if (address.auth !== undefined) await redis.call("AUTH", ...address.auth().map((secret) => secret.reveal()));
    return await use(redis, () => clearTimeout(timer));
  };
  try {
    return await Promise.race([end.promise, run()]);
  } catch (cause) {
    // Only the message of a reply: the error of ioredis contains the command, and with it the password.
    const isReply = cause instanceof Error && cause.name === "ReplyError";
    throw connectionError(address.text, isReply ? new Error(cause.message) : cause);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", closed);
    redis.disconnect();
  }
}

/**
 * Opens sockets instead of the connector of ioredis: one that fails twice (TLS does: first the name, then
 * the alert) must not end the process for lack of a second listener, and closing must not wait.
 */
class SocketConnector extends AbstractConnector {
  readonly #options: SocketOptions;
  #socket: Socket | undefined;

  constructor(options: unknown) {
    super(0);
    this.#options = options as SocketOptions; // ioredis passes the options of its client.
  }

  /** Rejects when certificates cannot be read. */
  override connect(): Promise<Socket> {
    return Promise.try(() => {
      this.#socket = openSocket(this.#options);
      return this.#socket.on("error", (error) => (this.firstError ??= error));
    });
  }

  override disconnect(): void {
    this.#socket?.destroy();
  }
}
