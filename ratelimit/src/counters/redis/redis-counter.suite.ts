// Test equipment of the Redis backend: options with short limits, counters that record what they
// received, and checks of failed calls.
import { silentLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { Counter } from "../counter.ts";
import { check, WaitingBatch } from "../counter.suite.ts";
import type { CreateDeployment, DeploymentDeps } from "./deployment.ts";
import { createRedisCounter } from "./redis-counter.ts";
import type { RedisCounterOptions, RedisServerOptions } from "./options.ts";

/**
 * KVSTORE_COMMAND_TIMEOUT of these tests, in milliseconds: short, so that faults show soon, and longer
 * than a busy machine keeps a well server from answering. Calls that meet no time limit have PATIENT.
 */
export const COMMAND_TIMEOUT_MS = 2000;

/**
 * The time that a busy machine may add to a time limit, in milliseconds: together they are shorter than
 * a connection may take.
 */
export const SLACK_MS = 12_000;

/** Longest wait for a condition, in milliseconds. */
export const DEADLINE_MS = 40_000;

/** Options of calls that meet no fault: none of them may fail because the machine is busy. */
export const PATIENT = { commandTimeoutMs: 30_000 };

/** The time for a start that must fail: enough for one attempt to fail on a busy machine. */
export const SHORT_START = { startup: { initialMs: 20, maxMs: 50, maxElapsedMs: 4000 } };

/** The options that differ from the usual ones. */
export interface CounterChoices {
  readonly server?: Partial<RedisServerOptions>;
  readonly perSecond?: RedisServerOptions;
  readonly options?: Partial<RedisCounterOptions>;
  readonly deps?: Partial<DeploymentDeps>;
}

/** A counter under test, with what it reported. */
export interface TestedCounter {
  readonly counter: Counter;
  readonly statistics: StatisticsStore;
  /** The numbers of working connections that were reported. */
  readonly active: readonly number[];
}

/** Options of a deployment of one connection. */
export function serverOptions(url: string, fields: Partial<RedisServerOptions> = {}): RedisServerOptions {
  return {
    type: "single",
    socketType: "tcp",
    url: new Secret(url),
    auth: undefined,
    sentinelAuth: undefined,
    tls: undefined,
    poolSize: 1,
    pipeline: { windowMs: 0, limit: 0 },
    clusterPipelineParallelism: 1,
    connectTimeoutMs: 20_000,
    ...fields,
  };
}

/** Makes counters of one deployment type and stops them after the test. */
export class TestedCounters {
  readonly #createDeployment: CreateDeployment;
  readonly #options: Partial<RedisCounterOptions>;
  readonly #open: Counter[] = [];

  /** `options` apply to all of them. */
  constructor(createDeployment: CreateDeployment, options: Partial<RedisCounterOptions> = {}) {
    this.#createDeployment = createDeployment;
    this.#options = options;
  }

  /** A counter that is not started. */
  create(url: string, choices: CounterChoices = {}): TestedCounter {
    const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
    const active: number[] = [];
    const counter = createRedisCounter(
      {
        log: silentLog(),
        statistics,
        monotonicMs: () => performance.now(),
        turn: new TurnEnd(undefined, choices.deps?.monotonicMs),
        random: () => 0,
        connections: (number) => active.push(number),
        createDeployment: this.#createDeployment,
        ...choices.deps,
      },
      {
        main: serverOptions(url, choices.server),
        perSecond: choices.perSecond,
        commandTimeoutMs: COMMAND_TIMEOUT_MS,
        expiryJitterMaxSeconds: 0,
        usesScripts: true,
        startup: { initialMs: 20, maxMs: 100, maxElapsedMs: 30_000 },
        ...this.#options,
        ...choices.options,
      },
    );
    this.#open.push(counter);
    return { counter, statistics, active };
  }

  async start(url: string, choices: CounterChoices = {}): Promise<TestedCounter> {
    const created = this.create(url, choices);
    await created.counter.start?.();
    return created;
  }

  /** Stops all counters. */
  async stop(): Promise<void> {
    for (const counter of this.#open.splice(0)) await counter.stop?.();
  }
}

/** How long a call took to fail, and with what; no error when it did not. */
export async function timeFailure(
  counter: Counter,
  batch = new WaitingBatch([check("fault")]),
): Promise<{ readonly error: unknown; readonly tookMs: number }> {
  const beganMs = performance.now();
  counter.count(batch);
  const error: unknown = await batch.counts.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, tookMs: performance.now() - beganMs };
}
