// The rules of one level as lookup tables, and the lookup of one entry in them. Exact composites
// are split in advance at every underscore, so that a request's key and value are looked up as they
// come, without joining them.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Entry, Rule, RuleMatch } from "./rule-set.ts";
import { createTextTable, lookUp, type TextTable } from "./text-table.ts";
import { matchesWildcard, type Wildcard } from "./wildcard.ts";
import {
  type Branch,
  createWildcardTree,
  entranceOf,
  findFromEntrance,
  findFromRoot,
  type KeyEntrance,
} from "./wildcard-tree.ts";

/** Joins key and value in a composite key. */
const SEPARATOR = "_";

/** One configured descriptor. */
export interface RuleNode {
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
  readonly staticMatch: RuleMatch | undefined;
  /** The nested rules; undefined when there are none. */
  readonly children: Level | undefined;
}

/** The nodes of one level. */
export interface Level {
  /** What request keys lead to that are the key of a rule, or its beginning up to an underscore. */
  readonly tables: TextTable<KeyTable>;
  /**
   * Nodes whose whole `key_value` a request has as its key, when `tables` does not have it: seldom
   * asked for, but as many as there are values.
   */
  readonly joined: TextTable<RuleNode> | undefined;
  /**
   * Nodes with a `*`: the first in configured order that matches wins; undefined when there are
   * none.
   */
  readonly wildcards: Branch<RuleNode> | undefined;
}

/** What one request key can lead to. */
export interface KeyTable {
  /**
   * By request value: the nodes whose composite is this key, an underscore and the value; undefined
   * when there are none.
   */
  readonly values: TextTable<RuleNode> | undefined;
  /** The node whose composite is this key itself. */
  readonly alone: RuleNode | undefined;
  /** Where nodes with a `*` are looked for; undefined when the level has none. */
  readonly entrance: KeyEntrance<RuleNode> | undefined;
}

/** How an entry led to its node. */
export type Reach = "exact" | "wildcard" | "key";

/**
 * Builds the tables of one level. Nodes come in configured order and their composites are unique,
 * which the validator has made sure of.
 */
export function createLevel(nodes: readonly RuleNode[]): Level {
  const alone = new Map<string, RuleNode>();
  const values = new Map<string, Map<string, RuleNode>>();
  for (const node of nodes) {
    const { composite } = node;
    alone.set(composite, node);
    // `a_b_c` answers the pairs (a, b_c) and (a_b, c) alike: the composite is all that counts.
    for (let at = composite.indexOf(SEPARATOR); at !== -1; at = composite.indexOf(SEPARATOR, at + 1)) {
      const key = composite.slice(0, at);
      let byValue = values.get(key);
      if (byValue === undefined) values.set(key, (byValue = new Map<string, RuleNode>()));
      byValue.set(composite.slice(at + 1), node);
    }
  }
  const wildcards = createWildcardTree(nodes);
  const tables = new Map<string, KeyTable>();
  const joined = new Map<string, RuleNode>();
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

function keyTable(
  values: ReadonlyMap<string, RuleNode> | undefined,
  alone: RuleNode | undefined,
  entrance: KeyEntrance<RuleNode> | undefined,
): KeyTable {
  return { values: values && createTextTable(values), alone, entrance };
}

/**
 * The node an entry leads to: exact composite first, then wildcards in order, then the key alone.
 */
export function findNode(level: Level, entry: Entry): RuleNode | undefined {
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

/** How `findNode` came from the entry to the node it returned for it. */
export function reachOf(node: RuleNode, entry: Entry): Reach {
  if (node.composite === entry.key + SEPARATOR + entry.value) return "exact";
  return node.wildcard !== undefined && matchesWildcard(node.wildcard, entry.key, entry.value) ? "wildcard" : "key";
}
