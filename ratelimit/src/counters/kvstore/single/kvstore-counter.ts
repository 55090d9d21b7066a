// The kvstore backend on single servers: INCRBY and EXPIRE as in the field, so that pods of both kinds can share a store. Counters of the unit SECOND
// may live on a server of their own.
import { ServiceError } from "@weir/common/errors/service-error";
import type { CountBatch, Counter } from "../../counter.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "../options.ts";
import { parseAddress } from "./address.ts";
import { KvstoreServer, type ServerDeps } from "./server.ts";

/** Length of the windows that go to the per-second server. */
const SECOND = 1;

/** What the backend works with; `connections` hears the smaller number of working connections of the two servers, at each change. */
export type KvstoreCounterDeps = ServerDeps;

/** Creates the backend; nothing is connected before `start`. Fails with STORE_ADDRESS_INVALID when an address cannot be read. */
export function createKvstoreCounter(deps: KvstoreCounterDeps, options: KvstoreCounterOptions): Counter {
  const active = { main: 0, perSecond: options.perSecond === undefined ? Infinity : 0 };
  const report = (): void => deps.connections(Math.min(active.main, active.perSecond));
  const main = createServer(deps, options, options.main, "KVSTORE", "redis_pool", (count) => {
    active.main = count;
    report();
  });
  const perSecond =
    options.perSecond &&
    createServer(deps, options, options.perSecond, "KVSTORE_PERSECOND", "redis_per_second_pool", (count) => {
      active.perSecond = count;
      report();
    });
  return new KvstoreCounter(main, perSecond, deps.clock, options.startup.maxElapsedMs);
}

function createServer(
  deps: ServerDeps,
  counter: KvstoreCounterOptions,
  server: KvstoreServerOptions,
  setting: string,
  scope: string,
  connections: (active: number) => void,
): KvstoreServer {
  const parsed = parseAddress(server);
  if (!parsed.ok) throw new ServiceError("STORE_ADDRESS_INVALID", `Cannot use ${setting}_URL: ${parsed.problem}`);
  return new KvstoreServer({ ...deps, connections }, { address: parsed.address, server, counter, scope });
}

class KvstoreCounter implements Counter {
  readonly name = "kvstore counters";
  readonly errorType = "redis_error";
  readonly #main: KvstoreServer;
  readonly #perSecond: KvstoreServer | undefined;
  readonly #clock: () => number;
  readonly #maxElapsedMs: number;

  constructor(main: KvstoreServer, perSecond: KvstoreServer | undefined, clock: () => number, maxElapsedMs: number) {
    this.#main = main;
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#maxElapsedMs = maxElapsedMs;
  }

  async start(): Promise<void> {
    // The per-second server first, as in the field.
    await this.#perSecond?.start(this.#maxElapsedMs);
    try {
      await this.#main.start(this.#maxElapsedMs);
    } catch (error) {
      this.#perSecond?.close();
      throw error;
    }
  }

  stop(): void {
    this.#perSecond?.close();
    this.#main.close();
  }

  count(batch: CountBatch): void {
    const nowMs = this.#clock();
    const { checks } = batch;
    for (const check of checks) {
      const refusal = this.#serverOf(check.windowSeconds).refusal(nowMs);
      if (refusal !== undefined) {
        batch.failed(refusal);
        return;
      }
    }
    batch.pending = checks.length;
    for (const check of checks) this.#serverOf(check.windowSeconds).add(check, batch, nowMs);
  }

  #serverOf(windowSeconds: number): KvstoreServer {
    return windowSeconds === SECOND ? (this.#perSecond ?? this.#main) : this.#main;
  }
}
