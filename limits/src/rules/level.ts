// The rules of one level as lookup tables, and the lookup of one entry. Exact composites are split
// in advance at every underscore, so a request's key and value are looked up without joining them.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Entry, Rule, RuleMatch } from "./rule.ts";
import { createTextTable, lookUp, type TextTable } from "./text-table.ts";
import { matchesWildcard, SEPARATOR, type Wildcard } from "./wildcard.ts";
import {
  type Branch,
  createWildcardTree,
  entranceOf,
  findFromEntrance,
  findFromRoot,
  type KeyEntrance,
} from "./wildcard-tree.ts";

/** One configured descriptor. */
export interface RuleNode<Attachment> {
  /** `key` or `key_value`, unique in its level. */
  readonly composite: string;
  /** Present when the composite has a `*`. */
  readonly wildcard: Wildcard | undefined;
  readonly valueToMetric: boolean;
  readonly detailedMetric: boolean;
  readonly shareThreshold: boolean;
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
  /** By request key: the keys of rules, and their beginnings up to each underscore. */
  readonly tables: TextTable<KeyTable<Attachment>>;
  /**
   * Nodes by whole `key_value`, for requests that have it as their key, when `tables` does not
   * contain it: seldom needed, but as many as there are values.
   */
  readonly joined: TextTable<RuleNode<Attachment>> | undefined;
  /**
   * Nodes with a `*`: the first in configured order that matches wins; undefined when there are
   * none.
   */
  readonly wildcards: Branch<RuleNode<Attachment>> | undefined;
}

/** What one request key can lead to. */
export interface KeyTable<Attachment> {
  /**
   * By request value: the nodes whose composite is this key, an underscore and the value; undefined
   * when there are none.
   */
  readonly values: TextTable<RuleNode<Attachment>> | undefined;
  /** The node whose composite is this key itself. */
  readonly alone: RuleNode<Attachment> | undefined;
  /** Where the search for nodes with a `*` begins; undefined when the level has none. */
  readonly entrance: KeyEntrance<RuleNode<Attachment>> | undefined;
}

/** How a rule matches an entry, in order of preference. */
export type Reach = "exact" | "wildcard" | "key";

/**
 * Builds the tables of one level. The nodes are in configured order and their composites unique, as the
 * validator ensures.
 */
export function createLevel<Attachment>(nodes: readonly RuleNode<Attachment>[]): Level<Attachment> {
  const alone = new Map<string, RuleNode<Attachment>>();
  const values = new Map<string, Map<string, RuleNode<Attachment>>>();
  for (const node of nodes) {
    const { composite } = node;
    alone.set(composite, node);
    // `a_b_c` matches the pairs (a, b_c) and (a_b, c) alike: only the composite counts.
    for (let at = composite.indexOf(SEPARATOR); at !== -1; at = composite.indexOf(SEPARATOR, at + 1)) {
      const byValue = values.getOrInsertComputed(composite.slice(0, at), () => new Map());
      byValue.set(composite.slice(at + 1), node);
    }
  }
  const wildcards = createWildcardTree(nodes);
  const tables = new Map<string, KeyTable<Attachment>>();
  const joined = new Map<string, RuleNode<Attachment>>();
  for (const [key, byValue] of values)
    tables.set(key, keyTable(byValue, alone.get(key), wildcards && entranceOf(wildcards, key)));
  for (const [composite, node] of alone) {
    if (tables.has(composite)) continue;
    if (composite.includes(SEPARATOR)) joined.set(composite, node);
    else tables.set(composite, keyTable(undefined, node, wildcards && entranceOf(wildcards, composite)));
  }
  return {
    tables: createTextTable(tables),
    joined: joined.size === 0 ? undefined : createTextTable(joined),
    wildcards,
  };
}

function keyTable<Attachment>(
  values: ReadonlyMap<string, RuleNode<Attachment>> | undefined,
  alone: RuleNode<Attachment> | undefined,
  entrance: KeyEntrance<RuleNode<Attachment>> | undefined,
): KeyTable<Attachment> {
  return { values: values && createTextTable(values), alone, entrance };
}

/**
 * The node an entry leads to: exact composite first, then wildcards in order, then the key alone.
 */
export function findNode<Attachment>(level: Level<Attachment>, entry: Entry): RuleNode<Attachment> | undefined {
  const table = lookUp(level.tables, entry.key);
  if (table?.values !== undefined) {
    const exact = lookUp(table.values, entry.value);
    if (exact !== undefined) return exact;
  }
  if (level.wildcards !== undefined) {
    const entrance = table?.entrance;
    const found =
      entrance === undefined
        ? findFromRoot(level.wildcards, entry.key, entry.value)
        : findFromEntrance(entrance, entry.key, entry.value);
    if (found !== undefined) return found;
  }
  if (table !== undefined) return table.alone;
  return level.joined === undefined ? undefined : lookUp(level.joined, entry.key);
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
