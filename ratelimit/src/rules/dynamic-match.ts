// Matches that depend on request values: statistics keys of value_to_metric and detailed_metric,
// and counters shared by share_threshold. The slow, rare side of matching; the walk itself is in
// domain-rules.ts.
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import { type RuleNode, reachOf } from "./level.ts";
import type { Entry, Rule, RuleMatch } from "./rule-set.ts";

/** One level of the way that led to a rule. */
export interface Step {
  readonly node: RuleNode;
  readonly entry: Entry;
}

/** The match of the rule at the end of the steps. */
export function createDynamicMatch(
  domain: string,
  steps: readonly Step[],
  rule: Rule,
  statistics: StatisticsStore,
): RuleMatch {
  const leaf = steps[steps.length - 1]?.node;
  const sharedValues = sharedValuesOf(steps);
  const statisticsKey =
    leaf?.detailedMetric === true ? detailedKey(domain, steps, sharedValues) : plainKey(domain, steps, sharedValues);
  // The field rebuilds a limit whose statistics key it recomputed, and its metadata is lost on the
  // way; answers must not differ from that.
  const isRebuilt = leaf?.detailedMetric === true ? leaf.children === undefined : statisticsKey !== rule.path;
  return {
    rule,
    statisticsKey,
    statistics: statistics.dynamicRule(statisticsKey) ?? statistics.rule(rule.path),
    sharedValues,
    metadata: isRebuilt ? undefined : leaf?.metadata,
  };
}

/**
 * Per entry the pattern's value part where a shared wildcard matched, else ""; undefined when none
 * did.
 */
function sharedValuesOf(steps: readonly Step[]): readonly string[] | undefined {
  const values = steps.map(({ node, entry }) => {
    if (!node.shareThreshold || reachOf(node, entry) !== "wildcard") return "";
    const prefix = `${entry.key}_`;
    return node.composite.startsWith(prefix) ? node.composite.slice(prefix.length) : node.composite;
  });
  return values.some((value) => value !== "") ? values : undefined;
}

/** Every level with its request value, save shared ones. */
function detailedKey(domain: string, steps: readonly Step[], sharedValues: readonly string[] | undefined): string {
  let key = domain;
  steps.forEach(({ node, entry }, index) => {
    if (sharedValues === undefined) key += `.${entry.key}_${entry.value}`;
    else if (sharedValues[index] !== "") key += `.${node.composite}`;
    else key += entry.value === "" ? `.${entry.key}` : `.${entry.key}_${entry.value}`;
  });
  return key;
}

/** Every level as configured, or with its request value where that level has value_to_metric. */
function plainKey(domain: string, steps: readonly Step[], sharedValues: readonly string[] | undefined): string {
  let key = domain;
  steps.forEach(({ node, entry }, index) => {
    const isShared = sharedValues !== undefined && sharedValues[index] !== "";
    key += `.${isShared || !node.valueToMetric ? node.composite : valueText(node, entry)}`;
  });
  return key;
}

function valueText(node: RuleNode, entry: Entry): string {
  switch (reachOf(node, entry)) {
    case "exact":
      return node.composite;
    case "wildcard":
      return `${entry.key}_${entry.value}`;
    case "key":
      return entry.value === "" ? entry.key : `${entry.key}_${entry.value}`;
  }
}
