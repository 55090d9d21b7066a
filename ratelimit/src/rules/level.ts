// The rules of one level as lookup tables, and the lookup of one entry in them. Exact composites are split in advance at every underscore, so that
// a request's key and value are looked up as they come, without joining them.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Entry, Rule, RuleMatch } from "./rule-set.ts";
import { matchesWildcard, type Wildcard } from "./wildcard.ts";

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
  readonly tables: ReadonlyMap<string, KeyTable>;
  /** Nodes with a `*`, in configured order: the first that matches wins. */
  readonly wildcards: readonly RuleNode[];
}

/** What one request key can lead to. */
export interface KeyTable {
  /** By request value: the nodes whose composite is this key, an underscore and the value. */
  readonly values: Map<string, RuleNode>;
  /** The node whose composite is this key itself. */
  alone: RuleNode | undefined;
}

/** How an entry led to its node. */
export type Reach = "exact" | "wildcard" | "key";

/** Builds the tables of one level. Nodes come in configured order and their composites are unique, which the validator has made sure of. */
export function createLevel(nodes: readonly RuleNode[]): Level {
  const tables = new Map<string, KeyTable>();
  const tableOf = (key: string): KeyTable => {
    let table = tables.get(key);
    if (table === undefined) tables.set(key, (table = { values: new Map(), alone: undefined }));
    return table;
  };
  for (const node of nodes) {
    const { composite } = node;
    tableOf(composite).alone = node;
    // `a_b_c` answers the pairs (a, b_c) and (a_b, c) alike: the composite is all that counts.
    for (let at = composite.indexOf(SEPARATOR); at !== -1; at = composite.indexOf(SEPARATOR, at + 1)) {
      tableOf(composite.slice(0, at)).values.set(composite.slice(at + 1), node);
    }
  }
  return { tables, wildcards: nodes.filter((node) => node.wildcard !== undefined) };
}

/** The node an entry leads to: exact composite first, then wildcards in order, then the key alone. */
export function findNode(level: Level, entry: Entry): RuleNode | undefined {
  const table = level.tables.get(entry.key);
  if (table !== undefined) {
    const exact = table.values.get(entry.value);
    if (exact !== undefined) return exact;
  }
  if (level.wildcards.length > 0) {
    for (const node of level.wildcards) {
      if (node.wildcard !== undefined && matchesWildcard(node.wildcard, entry.key, entry.value)) return node;
    }
  }
  return table?.alone;
}

/** How `findNode` came from the entry to the node it returned for it. */
export function reachOf(node: RuleNode, entry: Entry): Reach {
  if (node.composite === entry.key + SEPARATOR + entry.value) return "exact";
  return node.wildcard !== undefined && matchesWildcard(node.wildcard, entry.key, entry.value) ? "wildcard" : "key";
}
