// Creates what observes the service: the keys that count most, and the observer that reports them.
import type { Log } from "@weir/common/log/log";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { CountedRules } from "../config/counted-rules.ts";
import type { Settings } from "../settings.ts";
import { ObservedRules } from "../observe/observed-rules.ts";
import { Observer } from "../observe/observer.ts";
import { mergeRuleKeys, type RuleKeyCounts } from "../observe/rule-keys.ts";
import type { RuleName } from "../observe/rule-name.ts";
import type { ReadCounters } from "../observe/counters-reading.ts";
import type { ObservedPod } from "../observe/observed-pod.ts";
import { TopKeys } from "../observe/top-keys.ts";

export interface CreateObserverDeps {
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly rules: () => CountedRules | undefined;
  readonly topKeys: TopKeys | undefined;
  /** Reads counters by the rules of calls. */
  readonly decider: { readonly readCounts: ReadCounters };
  readonly log: Log;
  /** The workers, if there are any: each has its own keys. */
  readonly pool: { readKeys(names: readonly RuleName[]): Promise<readonly RuleKeyCounts[]> } | undefined;
}

/** The observer with how it shows keys; undefined when no control plane can ask for what it observes. */
export function createObserver(deps: CreateObserverDeps, { config, observe }: Settings): ObservedPod | undefined {
  if (config.source.kind !== "xds") return undefined;
  const { topKeys, pool, decider } = deps;
  const readKeys = async (names: readonly RuleName[]): Promise<readonly RuleKeyCounts[]> => {
    if (topKeys === undefined || names.length === 0) return [];
    const own = topKeys.read(names, Math.floor(Date.now() / 1000));
    return pool === undefined ? own : mergeRuleKeys([...own, ...(await pool.readKeys(names))], topKeys.capacity);
  };
  const rules = new ObservedRules(deps.rules);
  const observer = new Observer({ ...deps, rules, readKeys, nowMs: Date.now, random: Math.random });
  return { observer, readCounters: (question) => decider.readCounts(question), ...observe };
}

/** The keys of all rules; undefined when they are off, or when no control plane can ask for them. */
export function createTopKeys(
  { config, observe }: Pick<Settings, "config" | "observe">,
  rules: () => CountedRules | undefined,
): TopKeys | undefined {
  if (config.source.kind !== "xds" || observe.topKeys === 0) return undefined;
  return new TopKeys({ capacity: observe.topKeys, rules, random: Math.random });
}
