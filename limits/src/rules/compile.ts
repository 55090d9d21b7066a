// Compiles validated configurations to the immutable rule set that decisions read. It repeats no
// check of the validator. Domains that have not changed are shared with the set before, so that an edit costs what it
// changes, and the work is in steps, between which a server turns to its calls.
import { compositeKey, type DescriptorModel, type RateLimitConfigModel, type RateLimitModel } from "../model/model.ts";
import { parseUnit, UNIT_NUMBERS, UNIT_SECONDS, unitOfNumber } from "../model/unit.ts";
import { inOneGo } from "../model/in-one-go.ts";
import { DomainRules } from "./domain-rules.ts";
import { createLevel, type Level, type RuleNode } from "./level.ts";
import type { Attach, Rule, RuleLimit } from "./rule.ts";
import { compileWildcard } from "./wildcard.ts";

/** What /rlconfig prints as the unit of an unlimited rule. */
const NO_UNIT = "UNKNOWN";

/** All rules of a configuration. Immutable, so a call ends with the set that it began with. */
export interface RuleSet<Attachment> {
  /** Number of domains: 0 is a valid, empty configuration. */
  readonly domains: number;
  /** The rules of a domain; undefined when no configuration names it. */
  domain(name: string): DomainRules<Attachment> | undefined;
  /** The rules of every domain, in configured order. */
  all(): Iterable<DomainRules<Attachment>>;
  /**
   * One line per rule with a limit, in configured order: the text of /rlconfig. "" when there are
   * none.
   */
  dump(): string;
}

/** What a level inherits from the one above while it is compiled. */
interface Parent {
  readonly path: string;
  /** Whether a flag of a level above makes matches below depend on request values. */
  readonly isDynamic: boolean;
}

/** Compiles in one go, for callers that serve nothing meanwhile. */
export function compileRules<Attachment>(
  configs: readonly RateLimitConfigModel[],
  attach: Attach<Attachment>,
): RuleSet<Attachment> {
  return inOneGo(compileSteps(configs, attach));
}

/**
 * Compiles configurations that `findSetProblems` found nothing in. Several of one domain are
 * merged, in the order given. Calls `attach.rule` once for every rule with a limit, but for domains whose
 * configurations are the same objects as in the set `before`, which has attached the same.
 */
export function* compileSteps<Attachment>(
  configs: readonly RateLimitConfigModel[],
  attach: Attach<Attachment>,
  before?: RuleSet<Attachment>,
): Generator<undefined, RuleSet<Attachment>> {
  const domains = new Map<string, DomainRules<Attachment>>();
  for (const [domain, merged] of Map.groupBy(configs, (config) => config.domain)) {
    const known = before?.domain(domain);
    domains.set(domain, known?.isOf(merged) === true ? known : yield* compileDomain(domain, merged, attach));
  }
  return {
    domains: domains.size,
    domain: (name) => domains.get(name),
    all: () => domains.values(),
    dump: () =>
      Array.from(domains.values(), ({ rules }) => rules)
        .flat()
        .map(dumpLine)
        .join(""),
  };
}

/** The domains all of whose configurations are the same objects as in the set. */
export function unchangedDomains(
  configs: readonly RateLimitConfigModel[],
  before: RuleSet<unknown> | undefined,
): ReadonlySet<string> {
  const groups = Map.groupBy(configs, ({ domain }) => domain);
  return new Set([...groups].filter(([domain, merged]) => before?.domain(domain)?.isOf(merged)).map(([name]) => name));
}

function* compileDomain<Attachment>(
  domain: string,
  configs: readonly RateLimitConfigModel[],
  attach: Attach<Attachment>,
): Generator<undefined, DomainRules<Attachment>> {
  const descriptors = configs.flatMap((config) => config.descriptors);
  const rules: Rule[] = [];
  const root = yield* compileLevel(descriptors, { path: domain, isDynamic: false }, attach, rules);
  return new DomainRules({ domain, configs, rules, root, attach });
}

function* compileLevel<Attachment>(
  descriptors: readonly DescriptorModel[],
  parent: Parent,
  attach: Attach<Attachment>,
  rules: Rule[],
): Generator<undefined, Level<Attachment>> {
  // Made before the nodes, so that the nodes of a level are next to each other in memory.
  const attachments: ({ readonly made: Attachment } | undefined)[] = [];
  for (const descriptor of descriptors) {
    attachments.push(descriptor.rateLimit && { made: attach.rule(`${parent.path}.${compositeKey(descriptor)}`) });
    yield;
  }
  const nodes: RuleNode<Attachment>[] = [];
  for (const [index, descriptor] of descriptors.entries()) {
    nodes.push(yield* compileNode(descriptor, attachments[index], parent, attach, rules));
    yield;
  }
  return yield* createLevel(nodes);
}

function* compileNode<Attachment>(
  descriptor: DescriptorModel,
  attachment: { readonly made: Attachment } | undefined,
  parent: Parent,
  attach: Attach<Attachment>,
  rules: Rule[],
): Generator<undefined, RuleNode<Attachment>> {
  const { metadata, valueToMetric, detailedMetric } = descriptor;
  const composite = compositeKey(descriptor);
  const wildcard = compileWildcard(descriptor.key, descriptor.value);
  const shareThreshold = descriptor.shareThreshold && wildcard !== undefined;
  const path = `${parent.path}.${composite}`;
  const isDynamic = parent.isDynamic || valueToMetric || shareThreshold;
  const rule = descriptor.rateLimit && compileRule(descriptor, descriptor.rateLimit, path);
  const match = rule &&
    attachment && { rule, statisticsKey: path, attachment: attachment.made, sharedValues: undefined, metadata };
  if (rule !== undefined) rules.push(rule);
  // What every match reads comes first, to be on one line of the processor's cache: with many rules
  // that is what a match costs.
  return {
    children:
      descriptor.descriptors.length === 0
        ? undefined
        : yield* compileLevel(descriptor.descriptors, { path, isDynamic }, attach, rules),
    rule,
    staticMatch: isDynamic || detailedMetric ? undefined : match,
    composite,
    wildcard,
    valueToMetric,
    detailedMetric,
    shareThreshold,
    metadata,
  };
}

function compileRule(descriptor: DescriptorModel, rateLimit: RateLimitModel, path: string): Rule {
  const unit = rateLimit.unlimited ? undefined : parseUnit(rateLimit.unit);
  if (unit === undefined && !rateLimit.unlimited)
    throw new Error(`Rule ${path} reached the compiler with the unit '${rateLimit.unit}'`);
  const limit: RuleLimit =
    unit === undefined
      ? { requestsPerUnit: 0, unit: 0, name: rateLimit.name }
      : { requestsPerUnit: rateLimit.requestsPerUnit, unit: UNIT_NUMBERS[unit], name: rateLimit.name };
  return {
    path,
    limit,
    windowSeconds: unit === undefined ? 0 : UNIT_SECONDS[unit],
    unlimited: rateLimit.unlimited,
    shadowMode: descriptor.shadowMode,
    quotaMode: descriptor.quotaMode,
    replaces: rateLimit.replaces.map((replaced) => replaced.name),
  };
}

function dumpLine(rule: Rule): string {
  const unit = unitOfNumber(rule.limit.unit) ?? NO_UNIT;
  return `${rule.path}: unit=${unit} requests_per_unit=${rule.limit.requestsPerUnit}, shadow_mode: ${rule.shadowMode}, quota_mode: ${rule.quotaMode}\n`;
}
