// The differential run: random configurations and requests for envoyproxy/ratelimit and Weir, each
// over its own Redis server. Everything that both answer, count and store must be equal.
import { isDeepStrictEqual } from "node:util";
import { setTimeout as delay } from "node:timers/promises";
import { toJsonString } from "@bufbuild/protobuf";
import { type RateLimitRequest, RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import { Random } from "@weir/harness/processes/random";
import { compareAnswers } from "./compare-answers.ts";
import { drawConfiguration, type RandomConfiguration } from "./random-configuration.ts";
import { drawRequest } from "./random-requests.ts";
import { type BothStores, ServicePair } from "./service-pair.ts";

/** Size and seed of a run. */
export interface DifferentialPlan {
  readonly seed: number;
  readonly configurations: number;
  /** Requests per configuration. */
  readonly requests: number;
}

/** A configuration in which both were not equal. */
export interface Difference {
  /** Number of the configuration, from 1. */
  readonly configuration: number;
  readonly what: string;
}

/** Pairs of services that run at a time: one starts while the other answers. */
const PAIRS = 2;

/** Differences of one kind that are reported for a configuration. */
const REPORTED_MAX = 5;

/** Shortest unit of the rules, in milliseconds: windows of a day end with one of an hour. */
const WINDOW_MS = 3_600_000;
const DAY_MS = 24 * WINDOW_MS;

/** A configuration is not started so shortly before the end of a window: it is done after a few seconds. */
const WINDOW_END_MS = 60_000;

/** Most that a time to live may differ, in seconds: Weir does not renew it at every hit. */
const STORED_TTL_SLACK_SECONDS = 60;

/**
 * Runs `plan` with its files in `folder`. Resolves with every difference; none means that both did
 * the same. `report` is called after each configuration.
 */
export async function runDifferential(
  plan: DifferentialPlan,
  folder: string,
  report: (line: string) => void = () => undefined,
): Promise<readonly Difference[]> {
  const random = new Random(plan.seed);
  const seeds = Array.from({ length: plan.configurations }, () => random.fork());
  const differences: Difference[] = [];
  let next = 0;
  const runSome = async (): Promise<void> => {
    const stores = { theirs: await startRedis(folder), ours: await startRedis(folder) };
    try {
      while (next < seeds.length) {
        const number = ++next;
        const found = await runConfiguration(seeds[number - 1]!, plan.requests, `${folder}/${number}`, stores);
        differences.push(...found.map((what) => ({ configuration: number, what })));
        report(`configuration ${number}: ${found.length === 0 ? "equal" : `${found.length} differences`}`);
      }
    } finally {
      await Promise.all([stores.theirs.stop(), stores.ours.stop()]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(PAIRS, plan.configurations) }, runSome));
  return differences.toSorted((a, b) => a.configuration - b.configuration);
}

async function runConfiguration(
  random: Random,
  requests: number,
  folder: string,
  stores: BothStores,
): Promise<readonly string[]> {
  const configuration = drawConfiguration(random);
  for (const store of [stores.theirs, stores.ours]) await sendCommand(store, "FLUSHALL");
  const pair = await ServicePair.start(folder, configuration, stores);
  try {
    const rules = compareLists("the rule", await pair.theirs.rules(), await pair.ours.rules());
    await windowWithTime();
    const answers = await askBoth(pair, configuration, random, requests);
    const { theirs, ours } = await pair.statistics();
    return [
      ...rules,
      ...answers,
      ...compareMaps("statistic", theirs, ours),
      ...(await compareStores(pair, configuration)),
    ].map((what) => `${what}\n  settings ${JSON.stringify(configuration.env)}`);
  } finally {
    await pair.stop();
  }
}

/** Waits for the next window if the current one ends soon: no count must begin again in between. */
async function windowWithTime(): Promise<void> {
  const leftMs = WINDOW_MS - (Date.now() % WINDOW_MS);
  if (leftMs <= WINDOW_END_MS) await delay(leftMs + 100);
}

/** Calls of one domain follow one another; those of different domains run at the same time. */
async function askBoth(
  pair: ServicePair,
  configuration: RandomConfiguration,
  random: Random,
  requests: number,
): Promise<readonly string[]> {
  const differences: string[] = [];
  const { domains } = configuration;
  const lanes = domains.map(async (domain, lane) => {
    const own = random.fork();
    for (let sent = lane; sent < requests; sent += domains.length) {
      const request = drawRequest(own, domain);
      const [theirs, ours] = await Promise.all([pair.theirs.ask(request), pair.ours.ask(request)]);
      const difference = compareAnswers(theirs, ours, configuration);
      if (difference !== undefined) differences.push(`request ${describe(request)}\n${difference}`);
    }
  });
  await Promise.all(lanes);
  return differences.slice(0, REPORTED_MAX);
}

async function compareStores(pair: ServicePair, configuration: RandomConfiguration): Promise<readonly string[]> {
  const [theirs, ours] = [await pair.theirs.counters(), await pair.ours.counters()];
  const values = (counters: typeof theirs): ReadonlyMap<string, string> =>
    new Map([...counters].map(([key, { value }]) => [key, value]));
  // In the first hour of a day, limits of an hour and of a day share a counter: theirs lives as long as the last hit says, ours as the first.
  const isShared = Date.now() % DAY_MS < WINDOW_MS;
  const lives = [...ours].flatMap(([key, { ttlSeconds }]) => {
    const other = theirs.get(key)?.ttlSeconds ?? ttlSeconds;
    const isNear =
      isShared || Math.abs(ttlSeconds - other) <= configuration.jitterMaxSeconds + STORED_TTL_SLACK_SECONDS;
    return ttlSeconds > 0 && isNear ? [] : [`time to live of ${key}: ${other} s there, ${ttlSeconds} s here`];
  });
  return [...compareMaps("counter", values(theirs), values(ours)), ...lives.slice(0, REPORTED_MAX)];
}

function compareMaps<T>(what: string, theirs: ReadonlyMap<string, T>, ours: ReadonlyMap<string, T>): readonly string[] {
  return [...new Set([...theirs.keys(), ...ours.keys()])]
    .filter((key) => theirs.get(key) !== ours.get(key))
    .slice(0, REPORTED_MAX)
    .map((key) => `${what} ${key}: ${String(theirs.get(key))} there, ${String(ours.get(key))} here`);
}

function compareLists(what: string, theirs: readonly string[], ours: readonly string[]): readonly string[] {
  if (isDeepStrictEqual(theirs, ours)) return [];
  const missing = theirs.filter((line) => !ours.includes(line)).map((line) => `${what} ${line}: missing here`);
  const added = ours.filter((line) => !theirs.includes(line)).map((line) => `${what} ${line}: missing there`);
  return [...missing, ...added, `${what}s: ${theirs.length} there, ${ours.length} here`].slice(0, REPORTED_MAX);
}

function describe(request: RateLimitRequest): string {
  return toJsonString(RateLimitRequestSchema, request);
}
