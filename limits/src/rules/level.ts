// The rules of one level as lookup tables, and the lookup of one entry. Exact composites are split
// in advance at every underscore, so a request's key and value are looked up without joining them.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Entry, Rule, RuleMatch } from "./rule.ts";
import { lookUp, type TextTable, textTableSteps } from "./text-table.ts";
import { matchesWildcard, SEPARATOR, type Wildcard } from "./wildcard.ts";
import { type Branch, findPattern, wildcardTreeSteps } from "./wildcard-tree.ts";

/** One configured descriptor. */
export interface RuleNode<Attachment> {
  /** `key` or `key_value`, unique in its level. */
  readonly composite: string;
  /** Present when the composite has a `*`. */
  readonly wildcard: Wildcard | undefined;
  readonly valueToMetric: boolean;
  readonly detailedMetric: boolean;
  readonly shareThreshold: boolean;
  readonly showValues: boolean;
  readonly metadata: JsonObject | undefined;
  /** The limit; undefined on placeholders and white-listed values. */
  readonly rule: Rule | undefined;
  /** The match for every request, when no flag on the path makes it depend on request values. */
  readonly staticMatch: RuleMatch<Attachment> | undefined;
  /** The nested rules; undefined when there are none. */
  readonly children: Level<Attachment> | undefined;
}

/** The nodes of one level. */
export interface Level<Attachment> {
  /** By request key and request value: the nodes whose composite is the key, an underscore and the value. */
  readonly values: TextTable<TextTable<RuleNode<Attachment>>>;
  /** By request key: the nodes whose composite it is. */
  readonly composites: TextTable<RuleNode<Attachment>>;
  /**
   * Nodes with a `*`: the first in configured order that matches wins; undefined when there are
   * none.
   */
  readonly wildcards: Branch<RuleNode<Attachment>> | undefined;
}

/** How a rule matches an entry, in order of preference. */
export type Reach = "exact" | "wildcard" | "key";

/**
 * Builds the tables of one level in steps. The nodes are in configured order and their composites unique, as the
 * validator ensures.
 */
export function* createLevel<Attachment>(
  nodes: readonly RuleNode<Attachment>[],
): Generator<undefined, Level<Attachment>> {
  const composites = new Map<string, RuleNode<Attachment>>();
  const values = new Map<string, Map<string, RuleNode<Attachment>>>();
  for (const node of nodes) {
    const { composite } = node;
    composites.set(composite, node);
    // `a_b_c` matches the pairs (a, b_c) and (a_b, c) alike: only the composite counts.
    for (let at = composite.indexOf(SEPARATOR); at !== -1; at = composite.indexOf(SEPARATOR, at + 1)) {
      const byValue = values.getOrInsertComputed(composite.slice(0, at), () => new Map());
      byValue.set(composite.slice(at + 1), node);
    }
    yield;
  }
  const tables = new Map<string, TextTable<RuleNode<Attachment>>>();
  for (const [key, byValue] of values) tables.set(key, yield* textTableSteps(byValue));
  return {
    values: yield* textTableSteps(tables),
    composites: yield* textTableSteps(composites),
    wildcards: yield* wildcardTreeSteps(nodes),
  };
}

/**
 * The node an entry leads to: exact composite first, then wildcards in order, then the key alone.
 */
export function findNode<Attachment>(level: Level<Attachment>, entry: Entry): RuleNode<Attachment> | undefined {
  const values = lookUp(level.values, entry.key);
  const exact = values && lookUp(values, entry.value);
  if (exact !== undefined) return exact;
  const pattern = level.wildcards && findPattern(level.wildcards, entry.key, entry.value);
  return pattern ?? lookUp(level.composites, entry.key);
}

/** How the composite of a rule matches the entry; undefined when it does not. */
export function reachOf(
  { composite, wildcard }: { readonly composite: string; readonly wildcard: Wildcard | undefined },
  entry: Entry,
): Reach | undefined {
  if (composite === entry.key + SEPARATOR + entry.value) return "exact";
  if (wildcard !== undefined && matchesWildcard(wildcard, entry.key, entry.value)) return "wildcard";
  return composite === entry.key ? "key" : undefined;
}
