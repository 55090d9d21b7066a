// Creates the observer of the service, and the stream that it reports on.
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { CountedRules } from "../config/counted-rules.ts";
import type { Settings } from "../settings.ts";
import type { WorkerPool } from "../workers/worker-pool.ts";
import { ObservedRules } from "./observed-rules.ts";
import { Observer } from "./observer.ts";
import { mergeRuleKeys, type RuleKeyCounts } from "./rule-keys.ts";
import type { RuleName } from "./rule-name.ts";
import type { TopKeys } from "./top-keys.ts";

export interface CreateObserverDeps {
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly rules: () => CountedRules | undefined;
  readonly topKeys: TopKeys | undefined;
  /** The workers, if there are any: each has its own keys. */
  readonly pool: Pick<WorkerPool, "readKeys"> | undefined;
}

/** The observer with how it shows keys; undefined when no control plane can ask for what it observes. */
export function createObserver(deps: CreateObserverDeps, { config, observe }: Settings): ObservedPod | undefined {
  if (config.source.kind !== "xds") return undefined;
  const { topKeys, pool } = deps;
  const readKeys = async (names: readonly RuleName[]): Promise<readonly RuleKeyCounts[]> => {
    if (topKeys === undefined || names.length === 0) return [];
    const own = topKeys.read(names, Math.floor(Date.now() / 1000));
    return pool === undefined ? own : mergeRuleKeys([...own, ...(await pool.readKeys(names))], topKeys.capacity);
  };
  const rules = new ObservedRules(deps.rules);
  const observer = new Observer({ ...deps, rules, readKeys, nowMs: Date.now, random: Math.random });
  return { observer, ...observe };
}

/** What a pod reports when it is watched. */
export interface ObservedPod {
  readonly observer: Observer;
  /** Keys of a rule by each order; 0 = none. */
  readonly topKeys: number;
  readonly keyValues: Settings["observe"]["keyValues"];
}
