// One connection to one server through ioredis, from connecting to its end; it is not reused. Only
// this file and socket-connector.ts use ioredis.
import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { clientContext } from "@weir/common/tls/client-context";
import type { TlsMaterial } from "@weir/common/tls/tls-material";
import { Redis } from "ioredis";
import type { KvstoreTlsOptions } from "../options.ts";
import type { KvstoreAddress } from "../address.ts";
import { SocketConnector } from "./socket-connector.ts";
import type { CommandSink, Reply } from "./command-sink.ts";

/** TCP keep-alive of idle connections, in milliseconds; as in envoyproxy/ratelimit. */
const KEEP_ALIVE_MS = 10_000;

/** No certificate files: only the address asks for TLS. */
const NO_FILES: TlsMaterial = {};

/** Receives the events of a connection: `ready` at most once, `closed` exactly once and last. */
export interface ConnectionListener {
  /** Commands may be written from now on. */
  ready(): void;
  /** The connection has ended; `cause` is the reason as far as known. */
  closed(cause: unknown): void;
}

/** Options of a connection. */
export interface ConnectionChoices {
  readonly connectTimeoutMs: number;
  /** Whether a server that reports the role of a replica is refused. */
  readonly wantsPrimary: boolean;
}

/** Connects to a server. The listener is called after this function returns. */
export function connect(
  deps: {
    readonly address: KvstoreAddress;
    readonly tls: KvstoreTlsOptions | undefined;
    readonly listener: ConnectionListener;
  },
  options: ConnectionChoices,
): Connection {
  return new Connection(deps.address, deps.tls, deps.listener, options);
}

/** A connection. Commands may be written between `ready` and `closed`. */
export class Connection {
  readonly #redis: Redis;
  readonly #listener: ConnectionListener;
  readonly #address: KvstoreAddress;
  readonly #wantsPrimary: boolean;
  readonly #timer: NodeJS.Timeout;
  #cause: unknown;
  #isClosed = false;

  constructor(
    address: KvstoreAddress,
    tls: KvstoreTlsOptions | undefined,
    listener: ConnectionListener,
    choices: ConnectionChoices,
  ) {
    const { connectTimeoutMs, wantsPrimary } = choices;
    this.#address = address;
    this.#wantsPrimary = wantsPrimary;
    this.#listener = listener;
    this.#timer = setTimeout(
      () => this.close(new Error(`no connection within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    this.#redis = new Redis({
      ...targetOptions(address),
      ...tlsOptions(address, tls),
      Connector: SocketConnector,
      lazyConnect: true,
      // Reconnecting, waiting and time-outs are done here: an increment must never be sent twice,
      // and a caller never waits without bound.
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
   * Writes the commands that `fill` adds to the sink in one piece. `settle` receives the replies in
   * order, or only errors when the connection ends first.
   */
  write(fill: (sink: CommandSink) => void, settle: (replies: readonly Reply[]) => void): void {
    const pipeline = this.#redis.pipeline();
    fill(pipeline);
    void pipeline.exec((_error, replies) => settle(replies ?? []));
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

  /**
   * Sends AUTH, SELECT, PING and ROLE in one piece. The connection is ready with a PONG, of a
   * primary where one is required.
   */
  #introduce(): void {
    const { auth, database } = this.#address;
    const pipeline = this.#redis.pipeline();
    if (auth !== undefined) pipeline.call("AUTH", ...auth.map((secret) => secret.reveal()));
    if (database > 0) pipeline.select(database);
    pipeline.ping();
    if (this.#wantsPrimary) pipeline.role();
    void pipeline.exec((_error, replies) => {
      if (this.#isClosed) return;
      const role = this.#wantsPrimary ? roleIn(replies?.pop()) : undefined;
      const failure = replies?.find(([error]) => error !== null)?.[0];
      const last = replies?.[replies.length - 1]?.[1];
      // Only the message is passed on: the error of ioredis contains the command, and with it the
      // password.
      if (failure !== undefined && failure !== null) this.close(new Error(failure.message));
      else if (last !== "PONG") this.close(new Error(`the server answered PING with ${String(last)}`));
      else if (role !== undefined && role !== "master")
        this.close(new Error(`the server is not a primary, its role is ${role}`));
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

/** The role that a server reports; undefined when the user may not ask for it. */
function roleIn(reply: Reply | undefined): string | undefined {
  const [error, value] = reply ?? [new Error("no reply"), undefined];
  return error === null && Array.isArray(value) ? String(value[0]) : undefined;
}

function targetOptions({ target }: KvstoreAddress): { path: string } | { host: string; port: number } {
  return target.kind === "unix" ? { path: target.path } : { host: target.host, port: target.port };
}

function tlsOptions(
  { target, isTls }: KvstoreAddress,
  tls: KvstoreTlsOptions | undefined,
): { tls?: ConnectionOptions } {
  if (tls === undefined && !isTls) return {};
  return {
    tls: {
      // Made together with the socket: certificates that cannot be read fail the connection.
      get secureContext() {
        return clientContext(tls?.material() ?? NO_FILES);
      },
      ...(target.kind === "tcp" && isIP(target.host) === 0 ? { servername: target.host } : {}),
      ...(tls?.skipHostnameVerification === true ? { checkServerIdentity: () => undefined } : {}),
    },
  };
}
