// Test equipment: a kvstore backend on a cluster with limits that let faults show soon, and how long its calls take to fail.
import { silentLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { createStatisticsStore, type StatisticsStore } from "../../../statistics/statistics-store.ts";
import type { Counter } from "../../counter.ts";
import { check, WaitingBatch } from "../../counter.suite.ts";
import type { CreateDeployment } from "../deployment.ts";
import { createKvstoreCounter } from "../kvstore-counter.ts";
import type { KvstoreCounterOptions, KvstoreServerOptions } from "../options.ts";
import { createClusterDeployment } from "./cluster-deployment.ts";

/** Longest wait of a call, in milliseconds; `SLACK_MS` is what a busy machine may add. */
export const COMMAND_TIMEOUT_MS = 400;
export const SLACK_MS = 1500;

/** Longest wait for a condition, in milliseconds. */
export const DEADLINE_MS = 20_000;

/** What is particular to a counter under test. */
export interface ClusterCounterChoices {
  readonly server?: Partial<KvstoreServerOptions>;
  readonly perSecond?: KvstoreServerOptions;
  readonly options?: Partial<KvstoreCounterOptions>;
  readonly createDeployment?: CreateDeployment;
  /** Whether the test stops it itself. Default false. */
  readonly isOwn?: boolean;
}

/** A counter with what it told. */
export interface ClusterCounter {
  readonly counter: Counter;
  readonly statistics: StatisticsStore;
  /** Numbers of working connections, in the order in which they were told. */
  readonly active: readonly number[];
}

/** Options of a deployment. */
export function serverOptions(url: string, fields: Partial<KvstoreServerOptions> = {}): KvstoreServerOptions {
  return {
    type: "cluster",
    socketType: "tcp",
    url: new Secret(url),
    auth: undefined,
    sentinelAuth: undefined,
    tls: undefined,
    poolSize: 1,
    pipeline: { windowMs: 0, limit: 0 },
    clusterPipelineParallelism: 1,
    connectTimeoutMs: 2000,
    ...fields,
  };
}

const openCounters: Counter[] = [];

/** A counter that is not started. */
export function createClusterCounter(
  url: string,
  { server, perSecond, options, createDeployment = createClusterDeployment, isOwn = false }: ClusterCounterChoices = {},
): ClusterCounter {
  const statistics = createStatisticsStore({ maxDynamicKeys: 10 });
  const active: number[] = [];
  const connections = (number: number): void => void active.push(number);
  const counter = createKvstoreCounter(
    { log: silentLog(), statistics, clock: Date.now, random: () => 0, connections, createDeployment },
    {
      main: serverOptions(url, server),
      perSecond,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      expiryJitterMaxSeconds: 0,
      startup: { initialMs: 20, maxMs: 100, maxElapsedMs: 10_000 },
      ...options,
    },
  );
  if (!isOwn) openCounters.push(counter);
  return { counter, statistics, active };
}

/** A counter that counts. */
export async function startClusterCounter(url: string, choices: ClusterCounterChoices = {}): Promise<ClusterCounter> {
  const created = createClusterCounter(url, choices);
  await created.counter.start?.();
  return created;
}

/** Stops the counters that were made since the last time. */
export async function stopClusterCounters(): Promise<void> {
  for (const counter of openCounters.splice(0)) await counter.stop?.();
}

/** What a call failed with, undefined when it did not, and how long it took. */
export async function timeFailure(
  counter: Counter,
  batch: WaitingBatch = new WaitingBatch([check("fault")]),
): Promise<{ readonly error: unknown; readonly tookMs: number }> {
  const beganMs = performance.now();
  counter.count(batch);
  const error: unknown = await batch.counts.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, tookMs: performance.now() - beganMs };
}
