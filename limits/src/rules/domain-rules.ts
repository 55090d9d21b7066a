// The rules of one domain, and the walk of a descriptor's entries through their levels. The walk
// runs for every descriptor of every call: it makes no object unless a flag asks for request values.
import { dynamicMatch, overrideMatch, type Step } from "./dynamic-match.ts";
import { findNode, type Level, type RuleNode } from "./level.ts";
import type { RateLimitConfigModel } from "../model/model.ts";
import type { Attach, Entry, LimitOverride, Rule, RuleMatch } from "./rule.ts";
import { lookUp } from "./text-table.ts";

/** The parts of the rules of a domain. */
export interface DomainParts<Attachment> {
  readonly domain: string;
  /** The configurations that they were compiled from. */
  readonly configs: readonly RateLimitConfigModel[];
  /** Every rule with a limit, in configured order. */
  readonly rules: readonly Rule[];
  readonly root: Level<Attachment>;
  readonly attach: Attach<Attachment>;
}

/** The rules of one domain over its compiled root level. */
export class DomainRules<Attachment> {
  readonly domain: string;
  /** Every rule with a limit, in configured order. */
  readonly rules: readonly Rule[];
  /** The configurations that they were compiled from. */
  readonly configs: readonly RateLimitConfigModel[];
  readonly #root: Level<Attachment>;
  readonly #attach: Attach<Attachment>;

  constructor({ domain, configs, rules, root, attach }: DomainParts<Attachment>) {
    this.domain = domain;
    this.rules = rules;
    this.configs = configs;
    this.#root = root;
    this.#attach = attach;
  }

  /** Returns true if these are the same objects, in the same order, as the rules were compiled from. */
  isOf(configs: readonly RateLimitConfigModel[]): boolean {
    const own = this.configs;
    return configs.length === own.length && configs.every((config, index) => config === own[index]);
  }

  /** The rule for a descriptor's entries; undefined when there is none. */
  match(entries: readonly Entry[]): RuleMatch<Attachment> | undefined {
    const node = findLeaf(this.#root, entries);
    if (node?.rule === undefined) return undefined;
    return node.staticMatch ?? dynamicMatch(this.domain, this.steps(entries), node.rule, this.#attach);
  }

  /** The same for a read, which must make nothing of the values of a request: `attach` is used for them. */
  matchForRead<Other>(
    entries: readonly Entry[],
    attach: Attach<Other>,
  ): RuleMatch<Attachment> | RuleMatch<Other> | undefined {
    const node = findLeaf(this.#root, entries);
    if (node?.rule === undefined) return undefined;
    return node.staticMatch ?? dynamicMatch(this.domain, this.steps(entries), node.rule, attach);
  }

  /** The match of a limit that the request carries; undefined when its unit is not one of 1 to 7. */
  override(entries: readonly Entry[], limit: LimitOverride): RuleMatch<Attachment> | undefined {
    return overrideMatch(this.domain, entries, limit, this.#attach);
  }

  /** The nodes that `match` chooses for the entries in turn, up to the first entry without one. */
  steps(entries: readonly Entry[]): readonly Step<Attachment>[] {
    const steps: Step<Attachment>[] = [];
    let level: Level<Attachment> | undefined = this.#root;
    for (const entry of entries) {
      const node: RuleNode<Attachment> | undefined = level === undefined ? undefined : findNode(level, entry);
      if (node === undefined) break;
      steps.push({ node, entry });
      level = node.children;
    }
    return steps;
  }

  /** The nodes with these composites, one of each level in turn, up to the first level without one. */
  nodes(composites: readonly string[]): readonly RuleNode<Attachment>[] {
    const nodes: RuleNode<Attachment>[] = [];
    let level: Level<Attachment> | undefined = this.#root;
    for (const composite of composites) {
      const node: RuleNode<Attachment> | undefined = level && lookUp(level.composites, composite);
      if (node === undefined) break;
      nodes.push(node);
      level = node.children;
    }
    return nodes;
  }
}

/**
 * The node that the last entry leads to. There is no backtracking: once a node is chosen, its
 * siblings are not tried.
 */
function findLeaf<Attachment>(root: Level<Attachment>, entries: readonly Entry[]): RuleNode<Attachment> | undefined {
  let level: Level<Attachment> | undefined = root;
  let node: RuleNode<Attachment> | undefined;
  for (const entry of entries) {
    if (level === undefined) return undefined; // More entries than levels.
    node = findNode(level, entry);
    if (node === undefined) return undefined;
    level = node.children;
  }
  return node;
}
