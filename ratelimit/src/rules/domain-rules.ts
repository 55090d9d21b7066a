// The walk of a descriptor's entries through the levels of a domain. Per call and descriptor, so it
// makes no object unless a flag asks for request values.
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import { createDynamicMatch, type Step } from "./dynamic-match.ts";
import { findNode, type Level, type RuleNode } from "./level.ts";
import { matchOverride } from "./override.ts";
import type { DomainRules, Entry, RuleMatch } from "./rule-set.ts";

/** The rules of a domain over its compiled root level. */
export function createDomainRules(domain: string, root: Level, deps: { statistics: StatisticsStore }): DomainRules {
  return {
    domain,
    match: (entries) => match(domain, root, entries, deps.statistics),
    override: (entries, limit) => matchOverride(domain, entries, limit, deps.statistics),
  };
}

function match(
  domain: string,
  root: Level,
  entries: readonly Entry[],
  statistics: StatisticsStore,
): RuleMatch | undefined {
  const node = findLeaf(root, entries);
  if (node?.rule === undefined) return undefined;
  return node.staticMatch ?? createDynamicMatch(domain, stepsOf(root, entries), node.rule, statistics);
}

/**
 * The node that the last entry leads to. There is no way back: once a node is chosen, its siblings
 * are not tried.
 */
function findLeaf(root: Level, entries: readonly Entry[]): RuleNode | undefined {
  let level: Level | undefined = root;
  let node: RuleNode | undefined;
  for (const entry of entries) {
    if (level === undefined) return undefined; // Deeper than the rules are.
    node = findNode(level, entry);
    if (node === undefined) return undefined;
    level = node.children;
  }
  return node;
}

function stepsOf(root: Level, entries: readonly Entry[]): readonly Step[] {
  const steps: Step[] = [];
  let level: Level | undefined = root;
  for (const entry of entries) {
    const node: RuleNode | undefined = level === undefined ? undefined : findNode(level, entry);
    if (node === undefined) break;
    steps.push({ node, entry });
    level = node.children;
  }
  return steps;
}
