// Matches that depend on request values: statistics keys of value_to_metric, detailed_metric and
// overrides, and counters shared by share_threshold. The slow, rare side of matching.
import { UNIT_SECONDS, unitOfNumber, windowSecondsOf } from "../model/unit.ts";
import { reachOf, type RuleNode } from "./level.ts";
import { attachDynamic, matchOf } from "./limit-paths.ts";
import type { Attach, Entry, LimitOverride, Rule, RuleMatch } from "./rule.ts";

/** One level of the way that led to a rule. */
export interface Step<Attachment> {
  readonly node: RuleNode<Attachment>;
  readonly entry: Entry;
}

/** Last part of an override's path. */
const OVERRIDE = "override";

const NO_NAMES: readonly string[] = [];

/** The match of the rule at the end of the steps. */
export function dynamicMatch<Attachment>(
  domain: string,
  steps: readonly Step<unknown>[],
  rule: Rule,
  attach: Attach<Attachment>,
): RuleMatch<Attachment> {
  const leaf = steps[steps.length - 1]?.node;
  const sharedValues = sharedValuesOf(steps);
  const isDetailed = leaf?.detailedMetric === true;
  const statisticsKey = keyOf(domain, steps, sharedValues, isDetailed);
  // envoyproxy/ratelimit rebuilds a limit whose statistics key it recomputed and loses its metadata
  // on the way; answers must be the same.
  const isRebuilt = isDetailed ? leaf.children === undefined : statisticsKey !== rule.path;
  const metadata = isRebuilt ? undefined : leaf?.metadata;
  return matchOf({ rule, statisticsKey, sharedValues, metadata }, attachDynamic(rule, statisticsKey, attach));
}

/**
 * The match of a limit that a request carries: never in shadow or quota mode, without a name, not
 * unlimited. undefined when its unit is not one of 1 to 7. A multiplier whose window would be longer
 * than ten years is ignored.
 */
export function overrideMatch<Attachment>(
  domain: string,
  entries: readonly Entry[],
  limit: LimitOverride,
  attach: Attach<Attachment>,
): RuleMatch<Attachment> | undefined {
  const unit = unitOfNumber(limit.unit);
  if (unit === undefined) return undefined;
  const { requestsPerUnit, unitMultiplier: multiplier = 1 } = limit;
  const multiplied = multiplier > 1 ? windowSecondsOf(unit, multiplier) : undefined;
  const path = `${domain}.${OVERRIDE}`;
  const statisticsKey = `${domain}.${entries.map(entryText).join(".")}`;
  const rule: Rule = {
    path,
    limit: {
      requestsPerUnit,
      unit: limit.unit,
      ...(multiplied !== undefined && { unitMultiplier: multiplier }),
      name: "",
    },
    windowSeconds: multiplied ?? UNIT_SECONDS[unit],
    unlimited: false,
    shadowMode: false,
    quotaMode: false,
    replaces: NO_NAMES,
    calendar: undefined,
    cell: undefined,
  };
  return matchOf(
    { rule, statisticsKey, sharedValues: undefined, metadata: undefined },
    attachDynamic(rule, statisticsKey, attach),
  );
}

/**
 * Per entry the pattern's value part where a shared wildcard matched, else ""; undefined when none
 * did.
 */
function sharedValuesOf(steps: readonly Step<unknown>[]): readonly string[] | undefined {
  const values = steps.map(({ node, entry }) => {
    if (!node.shareThreshold || reachOf(node, entry) !== "wildcard") return "";
    const prefix = `${entry.key}_`;
    return node.composite.startsWith(prefix) ? node.composite.slice(prefix.length) : node.composite;
  });
  return values.some((value) => value !== "") ? values : undefined;
}

/**
 * Every level as configured, or with its request value where that level has value_to_metric; with
 * `isDetailed` every level with its request value. Shared levels are as configured in any case.
 */
function keyOf(
  domain: string,
  steps: readonly Step<unknown>[],
  sharedValues: readonly string[] | undefined,
  isDetailed: boolean,
): string {
  let key = domain;
  steps.forEach(({ node, entry }, index) => {
    const isShared = sharedValues !== undefined && sharedValues[index] !== "";
    if (isShared || !(isDetailed || node.valueToMetric)) key += `.${node.composite}`;
    else if (!isDetailed) key += `.${valueText(node, entry)}`;
    else key += sharedValues === undefined ? `.${entry.key}_${entry.value}` : `.${entryText(entry)}`;
  });
  return key;
}

function valueText(node: RuleNode<unknown>, entry: Entry): string {
  return reachOf(node, entry) === "exact" ? node.composite : entryText(entry);
}

function entryText(entry: Entry): string {
  return entry.value === "" ? entry.key : `${entry.key}_${entry.value}`;
}
