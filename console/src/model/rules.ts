// Rules of fleets as the views show them. Pure.
import type { FleetKeys } from "@weir/proto/generated/weir/console/v1/console_pb";
import type { KeyValue, TopKey } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import type { CountedRule, CountSeries } from "@weir/proto/observe/count-series";
import { STEP_SECONDS } from "@weir/proto/observe/count-series";
import type { MergedFleetCounts } from "@weir/proto/observe/merged-counts";
import type { MergedResource } from "@weir/proto/rollout/merged-rollout";

import type { RuleAddress } from "../route.ts";

/** Steps without a hit over the limit that do not end a time of rejections: a minute. */
const CALM_STEPS = 6;

/** A rule in a fleet and what it has counted. */
export interface RuleRow {
  readonly rule: RuleAddress;
  readonly counts: CountedRule;
}

/** A key of a rule. */
export interface KeyRow {
  /** One text for each level without a configured value. */
  readonly values: readonly string[];
  readonly count: number;
  /** Largest amount by which the count is too high. */
  readonly error: number;
  /** Part of all counts, 0 to 1. */
  readonly share: number;
}

/** The keys of a rule by one order. */
export interface KeyTable {
  readonly rows: readonly KeyRow[];
  /** The most that a key can have that is not in the rows. */
  readonly othersMax: number;
}

/** The rules of all fleets with most hits over the limit, those first, and then those with most hits. */
export function topRules(fleets: readonly MergedFleetCounts[], max: number): readonly RuleRow[] {
  return fleets
    .flatMap(({ name, series }) =>
      series.rules().map((counts) => ({
        row: { rule: { fleet: name, domain: counts.rule.domain, path: counts.rule.path }, counts },
        order: [counts.sum("overLimit"), counts.sum("hits")] as const,
      })),
    )
    .toSorted(({ order: [over, hits] }, { order: [otherOver, otherHits] }) => otherOver - over || otherHits - hits)
    .slice(0, max)
    .map(({ row }) => row);
}

/** Since when a rule rejects. */
export interface Rejecting {
  /** In seconds since the epoch. */
  readonly seconds: number;
  /** True if it began before, when nothing was kept. */
  readonly isEarlier: boolean;
}

/** Since when the rule rejects, if it has rejected in the last minute. */
export function rejectingSince(counts: CountedRule, endSeconds: number): Rejecting | undefined {
  const series = counts.series("overLimit");
  let [first, calm] = [series.length, 0];
  for (let step = series.length - 1; step >= 0 && calm <= CALM_STEPS; step--) {
    calm = series[step] === 0 ? calm + 1 : 0;
    if (calm === 0) first = step;
  }
  if (first === series.length) return undefined;
  return { seconds: beginOf(first, series.length, endSeconds), isEarlier: first < CALM_STEPS };
}

/** The beginning of a step of a series that ends with the step of `endSeconds`. */
function beginOf(step: number, steps: number, endSeconds: number): number {
  const last = Math.floor((endSeconds - 1) / STEP_SECONDS);
  return (last - (steps - 1 - step)) * STEP_SECONDS;
}

/** The resources that have the domain of the rule and are for its fleet. */
export function ownersOf(
  { fleet, domain }: RuleAddress,
  resources: readonly MergedResource[],
): readonly MergedResource[] {
  return resources.filter(
    ({ resource }) => resource.domain === domain && (resource.fleets.length === 0 || resource.fleets.includes(fleet)),
  );
}

/** The keys of a rule; undefined: none are known. */
export function keyTables(
  { domain, path }: RuleAddress,
  keys: readonly FleetKeys[],
): { readonly sinceSeconds: number; readonly byRejections: KeyTable; readonly byHits: KeyTable } | undefined {
  const found = keys.find(({ keys: each }) => each?.rule?.domain === domain && each.rule.path === path);
  if (found?.keys === undefined) return undefined;
  const { sinceSeconds, byRejections, byHits, rejections, hits } = found.keys;
  return {
    sinceSeconds: Number(sinceSeconds),
    byRejections: keyTable(byRejections, rejections, found.othersRejectionsMax),
    byHits: keyTable(byHits, hits, found.othersHitsMax),
  };
}

/** The counts of a rule in a fleet; undefined: it has counted nothing. */
export function countsOf(series: CountSeries | undefined, { domain, path }: RuleAddress): CountedRule | undefined {
  return series?.rules().find(({ rule }) => rule.domain === domain && rule.path === path);
}

function keyTable(keys: readonly TopKey[], all: bigint, othersMax: bigint): KeyTable {
  const rows = keys.map(({ values, count, error }) => ({
    values: values.map(valueText),
    count: Number(count),
    error: Number(error),
    share: all === 0n ? 0 : Math.min(1, Number(count) / Number(all)),
  }));
  return { rows, othersMax: Number(othersMax) };
}

function valueText({ key, shown, isCut }: KeyValue): string {
  const value =
    shown.case === "text" ? shown.value : shown.case === "hash" ? `#${hexText(shown.value)}` : "(not shown)";
  return `${key}=${value}${isCut ? "…" : ""}`;
}

function hexText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
