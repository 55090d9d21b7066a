// The match of a limit that a request brings along: no rule lookup, never shadow, never quota, no
// name, not unlimited.
import { UNIT_SECONDS, unitOfNumber } from "@weir/limits/model/unit";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import type { Entry, RuleMatch } from "./rule-set.ts";

/**
 * Last part of an override's path, and of the key its hits count under when there is no room for
 * one with request values.
 */
const OVERRIDE = "override";

const NO_NAMES: readonly string[] = [];

/** The match of an override; undefined when its unit is not one of 1 to 7. */
export function matchOverride(
  domain: string,
  entries: readonly Entry[],
  limit: { readonly requestsPerUnit: number; readonly unit: number },
  statistics: StatisticsStore,
): RuleMatch | undefined {
  const unit = unitOfNumber(limit.unit);
  if (unit === undefined) return undefined;
  const path = `${domain}.${OVERRIDE}`;
  const statisticsKey = `${domain}.${entries.map(entryText).join(".")}`;
  return {
    rule: {
      path,
      limit: { requestsPerUnit: limit.requestsPerUnit, unit: limit.unit, name: "" },
      windowSeconds: UNIT_SECONDS[unit],
      unlimited: false,
      shadowMode: false,
      quotaMode: false,
      replaces: NO_NAMES,
    },
    statisticsKey,
    statistics: statistics.dynamicRule(statisticsKey) ?? statistics.rule(path),
    sharedValues: undefined,
    metadata: undefined,
  };
}

function entryText(entry: Entry): string {
  return entry.value === "" ? entry.key : `${entry.key}_${entry.value}`;
}
