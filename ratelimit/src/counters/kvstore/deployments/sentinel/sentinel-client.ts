// One sentinel: asks it where the primary is, by a connection of its own that is closed again, and
// hears from it when the primary has changed, by a connection that stands. Whom to ask and when is
// the matter of primary-watch.ts.
import type { Backoff } from "@weir/common/backoff/backoff";
import type { KvstoreAddress } from "../../address.ts";
import { type Connection, connect } from "../../connection/connection.ts";
import type { KvstoreTlsOptions } from "../../options.ts";
import { connectionError } from "../../store-errors.ts";

/**
 * What sentinels publish when a primary has been replaced: its name, its old host and port, its new
 * host and port.
 */
const SWITCH_CHANNEL = "+switch-master";

/** Highest TCP port. */
const PORT_MAX = 65_535;

/** Where the primary is. */
export interface PrimaryPlace {
  readonly host: string;
  readonly port: number;
}

/** What a client works with. */
export interface SentinelClientDeps {
  readonly address: KvstoreAddress;
  readonly tls: KvstoreTlsOptions | undefined;
  /** Waits between attempts to subscribe. */
  readonly backoff: Backoff;
  /** Hears that the primary may have changed. */
  readonly changed: (client: SentinelClient) => void;
}

/** A sentinel. */
export class SentinelClient {
  readonly #deps: SentinelClientDeps;
  readonly #options: { readonly primaryName: string; readonly timeoutMs: number };
  readonly #asking = new Set<Connection>();
  #subscription: Connection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `timeoutMs` bounds a connection and the answer to a question, each. */
  constructor(deps: SentinelClientDeps, options: { readonly primaryName: string; readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Begins to listen for changes, for as long as it is open. */
  open(): void {
    this.#subscribe();
  }

  /** Where the primary is now, as far as this sentinel knows. Fails with STORE_UNAVAILABLE. */
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
          fail(cause); // Of no effect after an answer.
        },
      };
      const connection = connect({ address, tls, listener }, { connectTimeoutMs: timeoutMs, wantsPrimary: false });
      this.#asking.add(connection);
      if (this.#isClosed) connection.close(new Error("closed"));
    });
  }

  /** Ends everything. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#subscription?.close(new Error("closed"));
    for (const connection of this.#asking) connection.close(new Error("closed"));
  }

  #subscribe(): void {
    const { address, tls, backoff, changed } = this.#deps;
    const { primaryName, timeoutMs } = this.#options;
    const listener = {
      ready: () => {
        connection
          .subscribe(SWITCH_CHANNEL, (message) => {
            if (message.startsWith(`${primaryName} `)) changed(this);
          })
          .then(
            () => {
              backoff.reset();
              changed(this); // Who knows what was published before.
            },
            (cause: unknown) => connection.close(cause),
          );
      },
      closed: () => {
        if (this.#isClosed) return;
        this.#timer = setTimeout(() => this.#subscribe(), backoff.nextMs());
      },
    };
    const connection = connect({ address, tls, listener }, { connectTimeoutMs: timeoutMs, wantsPrimary: false });
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
