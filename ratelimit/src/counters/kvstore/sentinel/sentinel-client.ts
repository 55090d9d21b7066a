// One sentinel: asks it for the primary, by a connection per question, and subscribes to changes of
// the primary, by a lasting connection.
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import type { KvstoreAddress } from "../address.ts";
import { connectForQueries, type QueryConnection } from "../connection/query-connection.ts";
import type { KvstoreTlsOptions } from "../options.ts";
import { connectionError } from "../store-errors.ts";

/**
 * The channel on which sentinels publish a new primary: its name, its old host and port, its new
 * host and port.
 */
const SWITCH_CHANNEL = "+switch-master";

/** Waits between attempts to subscribe, in milliseconds. */
const SUBSCRIBE_INITIAL_MS = 250;
const SUBSCRIBE_MAX_MS = 5_000;

/** Highest TCP port. */
const PORT_MAX = 65_535;

/** The address of the primary. */
export interface PrimaryPlace {
  readonly host: string;
  readonly port: number;
}

/** What a client works with. */
export interface SentinelClientDeps {
  readonly address: KvstoreAddress;
  readonly tls: KvstoreTlsOptions | undefined;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Called when the primary may have changed. */
  readonly changed: (client: SentinelClient) => void;
}

/** A sentinel. */
export class SentinelClient {
  readonly #deps: SentinelClientDeps;
  readonly #options: { readonly primaryName: string; readonly timeoutMs: number };
  readonly #asking = new Set<QueryConnection>();
  #subscription: QueryConnection | undefined;
  readonly #subscribing: RetryLoop;
  #isClosed = false;

  /** `timeoutMs` bounds a connection and the answer to a question, each. */
  constructor(deps: SentinelClientDeps, options: { readonly primaryName: string; readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#options = options;
    this.#subscribing = new RetryLoop(() => this.#subscribe(), {
      initialMs: SUBSCRIBE_INITIAL_MS,
      maxMs: SUBSCRIBE_MAX_MS,
      factor: 1,
      jitter: true,
      random: deps.random,
    });
  }

  /** Subscribes to changes until it is closed. */
  open(): void {
    this.#subscribing.start();
  }

  /** The primary, as far as this sentinel knows. Fails with STORE_UNAVAILABLE. */
  ask(): Promise<PrimaryPlace> {
    const { address, tls } = this.#deps;
    const { primaryName, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(connectionError(address.text, cause));
      const listener = {
        ready: () => {
          const timer = setTimeout(() => connection.close(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
          connection
            .query("SENTINEL", "get-master-addr-by-name", primaryName)
            .then((reply) => resolve(placeIn(reply, primaryName)))
            .catch(fail)
            .finally(() => {
              clearTimeout(timer);
              connection.close(new Error("closed"));
            });
        },
        closed: (cause: unknown) => {
          this.#asking.delete(connection);
          fail(cause); // No effect after an answer.
        },
      };
      const connection = connectForQueries({ address, tls, listener }, { connectTimeoutMs: timeoutMs });
      this.#asking.add(connection);
      if (this.#isClosed) connection.close(new Error("closed"));
    });
  }

  /** Closes all connections. */
  close(): void {
    this.#isClosed = true;
    this.#subscribing.stop();
    this.#subscription?.close(new Error("closed"));
    for (const connection of this.#asking) connection.close(new Error("closed"));
  }

  #subscribe(): void {
    const { address, tls, changed } = this.#deps;
    const { primaryName, timeoutMs } = this.#options;
    const listener = {
      ready: () => {
        connection
          .subscribe(SWITCH_CHANNEL, (message) => {
            if (message.startsWith(`${primaryName} `)) changed(this);
          })
          .then(
            () => {
              this.#subscribing.succeeded();
              changed(this); // A change may have been published before.
            },
            (cause: unknown) => connection.close(cause),
          );
      },
      closed: () => this.#subscribing.retry(),
    };
    const connection = connectForQueries({ address, tls, listener }, { connectTimeoutMs: timeoutMs });
    this.#subscription = connection;
  }
}

function placeIn(reply: unknown, primaryName: string): PrimaryPlace {
  if (reply === null) throw new Error(`the sentinel knows no primary of the name ${primaryName}`);
  const [host, port] = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  const number = Number(port);
  if (typeof host !== "string" || host === "" || !Number.isInteger(number) || number < 1 || number > PORT_MAX) {
    throw new Error("the sentinel's answer is not the address of a primary");
  }
  return { host, port: number };
}
