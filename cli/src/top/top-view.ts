// The view of `weir top`, as plain data: fleets, rules and keys of all replicas. Pure.
import type { FleetKeys, RuleInfo } from "@weir/proto/generated/weir/console/v1/console_pb";
import type { KeyValue, TopKey } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import type { RuleCountName } from "@weir/proto/observe/count-series";
import { mergeCounts, type MergedFleetCounts } from "@weir/proto/observe/merged-counts";

import type { TopArguments } from "./arguments.ts";
import type { KeyedRule, WatchedReplica } from "./counts-watch.ts";

/** Rules whose keys are shown, when none is named. */
const KEYED_RULES = 5;

/** Most rules whose keys can be asked for. */
const KEYED_RULES_MAX = 32;

/** A count of a rule in the last ten minutes. */
export interface RuleCount {
  readonly total: number;
  readonly perSecond: number;
  /** One number for every ten seconds, the oldest first. */
  readonly series: readonly number[];
}

/** A key of a rule and its count. */
export interface ShownKey {
  /** By key of the level: text, hash in hexadecimal, or neither. */
  readonly values: readonly {
    readonly key: string;
    readonly text?: string;
    readonly hash?: string;
    readonly isCut: boolean;
  }[];
  readonly count: number;
  /** Largest amount by which the count is too high. */
  readonly error: number;
  /** Part of all counts, 0 to 1. */
  readonly share: number;
}

export interface ShownRule extends KeyedRule {
  readonly fleet: string;
  /** The resource that has it, its limit in words, and what that was in the revision before, if it differs. */
  readonly resource?: string;
  readonly limit?: string;
  readonly earlierLimit?: string;
  readonly overLimit: RuleCount;
  readonly hits: RuleCount;
  readonly nearLimit: RuleCount;
  readonly shadowMode: RuleCount;
  readonly keys?: {
    readonly since: string;
    readonly byRejections: readonly ShownKey[];
    readonly byHits: readonly ShownKey[];
  };
}

export interface ShownFleet {
  readonly name: string;
  readonly pods: number;
  readonly observedPods: number;
  readonly decisionsPerSecond: number;
  readonly rejectionsPerSecond: number;
  readonly errorsPerSecond: number;
  /** In milliseconds; undefined: no call. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

export interface TopView {
  readonly replicas: readonly {
    readonly server: string;
    readonly replica?: string | undefined;
    readonly error?: string | undefined;
  }[];
  readonly fleets: readonly ShownFleet[];
  /** Those with most hits over the limit first. */
  readonly rules: readonly ShownRule[];
}

/** The known details of the rules of a fleet, by name of the fleet. */
export type KnownRules = ReadonlyMap<string, readonly RuleInfo[]>;

/** The view of these replicas. */
export function topView(
  replicas: readonly WatchedReplica[],
  options: Pick<TopArguments, "paths" | "limit">,
  known: KnownRules = new Map(),
): TopView {
  const fleets = mergeCounts(replicas.flatMap(({ counts }) => counts ?? []));
  const rules = fleets
    .flatMap((fleet) => rulesOf(fleet, options.paths))
    .toSorted((one, other) => other.overLimit.total - one.overLimit.total || other.hits.total - one.hits.total);
  return {
    replicas: replicas.map(({ server, counts, error }) => ({ server, replica: counts?.replica, error })),
    fleets: fleets.map(({ name, pods, observedPods, series }) => ({
      name,
      pods,
      observedPods,
      decisionsPerSecond: series.rate("decisions"),
      rejectionsPerSecond: series.rate("rejections"),
      errorsPerSecond: series.rate("errors"),
      p50Ms: series.latencyMs(0.5),
      p99Ms: series.latencyMs(0.99),
    })),
    rules: rules.slice(0, options.limit).map((rule) => ({ ...rule, ...infoOf(rule, known.get(rule.fleet) ?? []) })),
  };
}

/** The rules whose keys are to be asked for: those of the view that are named, else those with most rejections. */
export function rulesToAsk({ rules }: TopView, paths: readonly string[]): readonly KeyedRule[] {
  const most = paths.length === 0 ? KEYED_RULES : KEYED_RULES_MAX;
  const distinct = new Map(rules.map(({ domain, path }) => [JSON.stringify([domain, path]), { domain, path }]));
  return [...distinct.values()].slice(0, most);
}

function infoOf({ domain, path }: ShownRule, infos: readonly RuleInfo[]): Partial<ShownRule> {
  const info = infos.find(({ rule }) => rule?.domain === domain && rule.path === path);
  if (info === undefined) return {};
  const { namespace, name, limit, earlierLimit } = info;
  return { resource: `${namespace}/${name}`, limit, ...(earlierLimit !== "" && { earlierLimit }) };
}

function rulesOf({ name, series, keys }: MergedFleetCounts, paths: readonly string[]): readonly ShownRule[] {
  return series
    .rules()
    .filter(({ rule: { path } }) => paths.length === 0 || paths.includes(path))
    .map((counted) => {
      const { domain, path } = counted.rule;
      const count = (which: RuleCountName): RuleCount => ({
        total: counted.sum(which),
        perSecond: counted.rate(which),
        series: counted.series(which),
      });
      const found = keys.find(({ keys: of }) => of?.rule?.domain === domain && of.rule.path === path);
      return {
        ...{ domain, path, fleet: name },
        overLimit: count("overLimit"),
        hits: count("hits"),
        nearLimit: count("nearLimit"),
        shadowMode: count("shadowMode"),
        ...(found?.keys && { keys: shownKeys(found.keys) }),
      };
    });
}

function shownKeys({ sinceSeconds, byRejections, byHits, rejections, hits }: NonNullable<FleetKeys["keys"]>) {
  return {
    since: new Date(Number(sinceSeconds) * 1000).toISOString(),
    byRejections: byRejections.map((key) => shownKey(key, Number(rejections))),
    byHits: byHits.map((key) => shownKey(key, Number(hits))),
  };
}

function shownKey({ values, count, error }: TopKey, all: number): ShownKey {
  return {
    values: values.map(shownValue),
    count: Number(count),
    error: Number(error),
    share: all === 0 ? 0 : Math.min(1, Number(count) / all),
  };
}

function shownValue({ key, shown, isCut }: KeyValue): ShownKey["values"][number] {
  if (shown.case === "text") return { key, text: shown.value, isCut };
  return shown.case === "hash" ? { key, hash: Buffer.from(shown.value).toString("hex"), isCut } : { key, isCut };
}
