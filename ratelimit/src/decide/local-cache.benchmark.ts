// Measures what the local cache spares: a decision about a key that is over its limit, asked of a
// Redis and known to this process. Needs a running Redis, in which it leaves one counter for an
// hour: `node --conditions=source ratelimit/src/decide/local-cache.benchmark.ts 127.0.0.1:6379`.
import { silentLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import type { Counter } from "../counters/counter.ts";
import { createKvstoreCounter } from "../counters/kvstore/kvstore-counter.ts";
import { createSingleDeployment } from "../counters/kvstore/deployments/single/single-deployment.ts";
import { compileRules } from "../rules/compile.ts";
import { createServiceStatistics } from "../statistics/service-statistics.ts";
import { createStatisticsStore } from "../statistics/statistics-store.ts";
import type { Decider, DecisionCall } from "./decider.ts";
import type { Decision } from "./decision.ts";
import { createLocalCache } from "./local-cache.ts";
import { createDecider } from "./rule-decider.ts";

/** Decisions of a round, of which the fastest of so many counts. */
const ROUND = 20_000;
const ROUNDS = 7;

const REQUEST = { domain: "benchmark", descriptors: [{ entries: [{ key: "tight", value: "x" }] }], hitsAddend: 0 };

/** The calls of a round: how many are to be begun, how many to be answered. */
interface Calls {
  left: number;
  open: number;
  readonly done: () => void;
}

/** A caller that begins the next call when it was answered, until all are. */
class NextCall implements DecisionCall {
  readonly deadlineMs = undefined;
  readonly #decider: Decider;
  readonly #calls: Calls;
  #isBeginning = false;
  #isAnswered = false;

  constructor(decider: Decider, calls: Calls) {
    this.#decider = decider;
    this.#calls = calls;
  }

  /** Begins calls for as long as they are answered at once and one is left. */
  run(): void {
    while (this.#calls.left > 0 && this.#isAnsweredAtOnce());
  }

  decided({ overallCode }: Decision): void {
    if (overallCode !== 2) throw new Error("The key must be over its limit");
    if (--this.#calls.open === 0) this.#calls.done();
    this.#isAnswered = true;
    if (!this.#isBeginning) this.run();
  }

  failed(error: Error): void {
    throw error;
  }

  #isAnsweredAtOnce(): boolean {
    this.#calls.left -= 1;
    this.#isAnswered = false;
    this.#isBeginning = true;
    this.#decider.decide(REQUEST, this);
    this.#isBeginning = false;
    return this.#isAnswered;
  }
}

/** Nanoseconds a decision, with so many calls in flight. */
async function measure(decider: Decider, inFlight: number): Promise<number> {
  let fastest = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const calls: Calls = { left: ROUND, open: ROUND, done: resolve };
    const began = process.hrtime.bigint();
    for (let call = 0; call < inFlight; call++) new NextCall(decider, calls).run();
    await promise;
    fastest = Math.min(fastest, Number(process.hrtime.bigint() - began) / ROUND);
  }
  return fastest;
}

function openDecider(counter: Counter, sizeBytes: number): Decider {
  const store = createStatisticsStore({ maxDynamicKeys: 10 });
  const limit = { unit: "hour", requestsPerUnit: 0, unlimited: false, name: "", replaces: [] };
  const flags = {
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
  };
  const tight = { key: "tight", value: "", descriptors: [], rateLimit: limit, ...flags };
  const rules = compileRules([{ name: "benchmark", domain: "benchmark", descriptors: [tight] }], { statistics: store });
  const localCache = createLocalCache({ statistics: store, log: silentLog() }, { sizeBytes });
  return createDecider(
    {
      rules: () => rules,
      counter,
      statistics: createServiceStatistics(store),
      localCache,
      clock: Date.now,
      log: silentLog(),
    },
    {
      shadowMode: false,
      quotaMode: false,
      nearLimitRatio: 0.8,
      responseHeaders: undefined,
      ruleHeader: undefined,
      dynamicMetadata: false,
      keyPrefix: "",
      maxDescriptors: 1000,
      maxEntries: 100,
      stopIncrementsWhenOver: false,
      failureMode: "error",
    },
  );
}

if (import.meta.main) {
  const counter = createKvstoreCounter(
    {
      log: silentLog(),
      statistics: createStatisticsStore({ maxDynamicKeys: 10 }),
      clock: Date.now,
      random: Math.random,
      connections: () => undefined,
      createDeployment: createSingleDeployment,
    },
    {
      main: {
        type: "single",
        socketType: "tcp",
        url: new Secret(process.argv[2] ?? "127.0.0.1:6379"),
        auth: undefined,
        sentinelAuth: undefined,
        tls: undefined,
        poolSize: 1,
        pipeline: { windowMs: 0, limit: 0 },
        clusterPipelineParallelism: 1,
        connectTimeoutMs: 5000,
      },
      perSecond: undefined,
      commandTimeoutMs: 5000,
      expiryJitterMaxSeconds: 0,
      startup: { initialMs: 100, maxMs: 100, maxElapsedMs: 5000 },
    },
  );
  await counter.start?.();
  for (const { what, sizeBytes, inFlight } of [
    { what: "asked of Redis, one at a time", sizeBytes: 0, inFlight: 1 },
    { what: "asked of Redis, 64 at a time", sizeBytes: 0, inFlight: 64 },
    { what: "known to the local cache", sizeBytes: 1_000_000, inFlight: 1 },
  ]) {
    const ns = await measure(openDecider(counter, sizeBytes), inFlight);
    process.stdout.write(`${what.padEnd(32)} ${ns.toFixed(0).padStart(8)} ns\n`);
  }
  await counter.stop?.();
}
