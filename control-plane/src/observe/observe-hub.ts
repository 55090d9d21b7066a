// Adds up the counts that the pods of this replica report, by fleet: asked for while a client watches, kept as
// long as one does.
import { createHmac } from "node:crypto";

import { create } from "@bufbuild/protobuf";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { type FleetCounts, FleetCountsSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import type { Observation, RuleKeys, RuleName } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { CountSeries, ruleId, STEP_SECONDS } from "@weir/proto/observe/count-series";
import { KEYS_MAX, keysOfPod, mergeKeys } from "@weir/proto/observe/merge-keys";

import { CounterQuestions } from "./counter-questions.ts";

/** How often watchers are sent what has come, in milliseconds. */
const TICK_MS = 500;

/** Most rules of a fleet whose keys pods are asked for. */
const KEYED_RULES_MAX = 32;

/**
 * How long after a watch began the past of a pod counts, in seconds. A pod that comes later has moved here from another
 * replica, which has counted its past.
 */
const PAST_TAKEN_SECONDS = 5;

/** Most values of a key, and longest name of a level and longest value or hash in bytes; longer keys are dropped. */
const VALUES_MAX = 8;
const NAME_MAX_BYTES = 1024;
const TEXT_MAX_BYTES = 64;

/** A clock that differs by so much, in seconds, is corrected. */
const SKEW_MAX_SECONDS = 5;

/** The counts that a pod is asked for. */
export interface Wanted {
  readonly totals: boolean;
  readonly keysOf: readonly RuleName[];
  /** The key of its fleet for hashes; undefined: there is none. */
  readonly hashKey: Uint8Array | undefined;
}

/** A pod that reports what it counts. */
export interface ReportingPod {
  readonly fleet: string;
  /** Most keys that it has of a rule. */
  readonly topKeys: number;
  /** Returns true if it was sent a rule of this name. */
  readonly hasRule: (rule: RuleName) => boolean;
  /** Sends it what is wanted of it. */
  readonly want: (wanted: Wanted) => void;
}

/** Takes what one pod reports. */
export interface PodObserver {
  /** Returns true if something is wanted of it. */
  isWatched(): boolean;
  observed(observation: Observation): void;
  left(): void;
}

/** The counts that a client watches. */
export interface CountsFilter {
  /** Empty: every fleet. */
  readonly fleet: string;
  readonly keysOf: readonly RuleName[];
}

/** The fleets since the last time; `replaces`: everything that was counted. */
export type CountsListener = (fleets: (replaces: boolean) => readonly FleetCounts[]) => void;

export interface ObserveHubDeps {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Fleets of the connected pods, one for each pod. */
  readonly fleetsOfPods: () => readonly string[];
  /** From which the keys of fleets are made, the same on every replica; undefined: pods send no hashes. */
  readonly hashSecret: () => Buffer | undefined;
}

interface Watcher {
  readonly filter: CountsFilter;
  readonly listener: CountsListener;
}

interface Observed {
  readonly pod: ReportingPod;
  /** The last keys of each rule, and the second that they came with: it may come in several observations. */
  keys: Map<string, RuleKeys>;
  keysAt: bigint | undefined;
  shiftSeconds: number | undefined;
}

interface Fleet {
  readonly beganSeconds: number;
  readonly all: CountSeries;
  /** The counts that watchers have not been sent. */
  readonly fresh: CountSeries;
}

/** The counts of all fleets. */
export class ObserveHub implements Part {
  readonly name = "counts of pods";
  /** The questions about single counters. */
  readonly questions = new CounterQuestions();
  readonly #deps: ObserveHubDeps;
  readonly #watchers = new Set<Watcher>();
  readonly #pods = new Set<Observed>();
  /** Of fleets that are watched. */
  readonly #fleets = new Map<string, Fleet>();
  /** The keys of fleets together, until a pod reports others. */
  readonly #merged = new Map<string, ReturnType<typeof mergeKeys>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ObserveHubDeps) {
    this.#deps = deps;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Adds a pod, and asks it for what is wanted. */
  add(pod: ReportingPod): PodObserver {
    const observed: Observed = { pod, keys: new Map(), keysAt: undefined, shiftSeconds: undefined };
    this.#pods.add(observed);
    pod.want(this.#wantedOf(pod.fleet));
    return {
      isWatched: () => this.#isWatched(pod.fleet),
      observed: (observation) => this.#take(observed, observation),
      left: () => {
        this.#pods.delete(observed);
        this.#merged.delete(pod.fleet);
      },
    };
  }

  /** The secret of hashes is another one: pods are sent the new keys. */
  secretChanged(): void {
    this.#askPods("");
  }

  /** Calls the listener every half second from now on; returns the function that ends this. */
  watch(filter: CountsFilter, listener: CountsListener): () => void {
    const watcher = { filter, listener };
    this.#watchers.add(watcher);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    this.#askPods(filter.fleet);
    return () => {
      this.#watchers.delete(watcher);
      for (const fleet of this.#fleets.keys()) if (!this.#isWatched(fleet)) this.#fleets.delete(fleet);
      for (const observed of this.#pods) if (!this.#isWatched(observed.pod.fleet)) observed.keys = new Map();
      this.#merged.clear();
      this.#askPods(filter.fleet);
      if (this.#watchers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Sends watchers what has come since the last time. */
  #tick(): void {
    const pods = Map.groupBy(this.#deps.fleetsOfPods(), (fleet) => fleet);
    const observed = Map.groupBy(this.#pods, ({ pod }) => pod.fleet);
    // A fleet whose last pod is connecting again keeps its counts.
    const names = [...new Set([...pods.keys(), ...this.#fleets.keys()])].toSorted(compareCodeUnits);
    const fresh = new Map(Array.from(this.#fleets, ([name, fleet]) => [name, fleet.fresh.take()]));
    const keysOf = (fleet: string): ReturnType<typeof mergeKeys> =>
      this.#merged.getOrInsertComputed(fleet, () =>
        mergeKeys(
          (observed.get(fleet) ?? []).flatMap((each) =>
            [...each.keys.values()].map((found) => keysOfPod(found, Math.min(each.pod.topKeys, KEYS_MAX))),
          ),
        ),
      );
    for (const { filter, listener } of this.#watchers) {
      const wanted = new Set(filter.keysOf.map(ruleId));
      listener((replaces) =>
        names.filter(covers(filter)).map((name) => {
          const series = this.#fleets.get(name)?.all;
          const counts = replaces ? series?.observation() : fresh.get(name);
          return create(FleetCountsSchema, {
            fleet: name,
            pods: pods.get(name)?.length ?? 0,
            observedPods: observed.get(name)?.length ?? 0,
            ...(counts && { counts }),
            endSeconds: BigInt(series?.endSeconds ?? 0),
            keys:
              wanted.size === 0 ? [] : keysOf(name).filter(({ keys: of }) => of?.rule && wanted.has(ruleId(of.rule))),
          });
        }),
      );
    }
  }

  #take(observed: Observed, observation: Observation): void {
    const { pod } = observed;
    if (!this.#isWatched(pod.fleet)) return;
    const nowSeconds = Math.floor(this.#deps.clock() / 1000);
    const fleet = this.#fleets.getOrInsertComputed(pod.fleet, () => ({
      beganSeconds: nowSeconds,
      all: new CountSeries(),
      fresh: new CountSeries(),
    }));
    const known = (rule: RuleName | undefined): boolean => rule !== undefined && pod.hasRule(rule);
    const isPast = observation.stepSeconds >= STEP_SECONDS;
    if (!isPast) {
      if (observation.startSeconds !== observed.keysAt) observed.keys = new Map();
      observed.keysAt = observation.startSeconds;
      this.#merged.delete(pod.fleet);
      for (const each of observation.keys)
        if (each.rule && known(each.rule) && observed.keys.size < KEYED_RULES_MAX)
          observed.keys.set(ruleId(each.rule), cutKeys(each));
    } else if (nowSeconds > fleet.beganSeconds + PAST_TAKEN_SECONDS) return;
    observed.shiftSeconds ??= shiftOf(observation, nowSeconds);
    const counts = { ...observation, rules: observation.rules.filter(({ rule }) => known(rule)) };
    for (const series of [fleet.all, fleet.fresh]) series.add(counts, nowSeconds, observed.shiftSeconds);
  }

  #isWatched(fleet: string): boolean {
    return this.#watchers.values().some(({ filter }) => covers(filter)(fleet));
  }

  #wantedOf(fleet: string): Wanted {
    const filters = Array.from(this.#watchers, ({ filter }) => filter).filter((filter) => covers(filter)(fleet));
    const rules = new Map(filters.flatMap(({ keysOf }) => keysOf.map((rule) => [ruleId(rule), rule] as const)));
    const hashSecret = this.#deps.hashSecret();
    return {
      totals: filters.length > 0,
      keysOf: [...rules.values()].slice(0, KEYED_RULES_MAX),
      // Of no use for the hashes of another fleet.
      hashKey: hashSecret && createHmac("sha256", hashSecret).update(fleet).digest(),
    };
  }

  #askPods(fleet: string): void {
    const wanted = new Map<string, Wanted>();
    for (const { pod } of this.#pods) {
      if (fleet !== "" && pod.fleet !== fleet) continue;
      pod.want(wanted.getOrInsertComputed(pod.fleet, () => this.#wantedOf(pod.fleet)));
    }
  }
}

function covers({ fleet }: CountsFilter): (name: string) => boolean {
  return (name) => fleet === "" || fleet === name;
}

/** The keys of one rule that a pod may keep here: as many and as long as the pods of this release have them. */
function cutKeys(keys: RuleKeys): RuleKeys {
  const cut = (list: RuleKeys["byHits"]): RuleKeys["byHits"] => list.slice(0, KEYS_MAX).filter(isBounded);
  return { ...keys, byRejections: cut(keys.byRejections), byHits: cut(keys.byHits) };
}

function isBounded({ values }: RuleKeys["byHits"][number]): boolean {
  return (
    values.length <= VALUES_MAX &&
    values.every(
      ({ key, shown }) =>
        Buffer.byteLength(key) <= NAME_MAX_BYTES &&
        (shown.value === undefined || Buffer.byteLength(shown.value) <= TEXT_MAX_BYTES),
    )
  );
}

/** The seconds to add to the times of a pod whose clock is wrong: its observations end about now. */
function shiftOf({ startSeconds, stepSeconds, steps }: Observation, nowSeconds: number): number {
  const aheadSeconds = Number(startSeconds) + stepSeconds * steps - nowSeconds;
  // The last step of the past is not over.
  return Math.abs(aheadSeconds) <= Math.max(SKEW_MAX_SECONDS, stepSeconds) ? 0 : -aheadSeconds;
}
