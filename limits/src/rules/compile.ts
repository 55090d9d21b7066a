// Compiles validated configurations to the immutable rule set that decisions read. It repeats no
// check of the validator. Domains that have not changed are shared with the set before, so that an edit costs what it
// changes, and the work is in steps, between which a server turns to its calls.
import {
  compositeKey,
  type DescriptorModel,
  limitsOf,
  type RateLimitConfigModel,
  type RateLimitModel,
} from "../model/model.ts";
import { parseUnit, UNIT_NUMBERS, UNIT_SECONDS } from "../model/unit.ts";
import { endsStep, inOneGo } from "../model/in-one-go.ts";
import { calendarWindowsOf } from "../window/calendar.ts";
import { cellRuleOf, type CompiledLimit } from "../cell/cell-rule.ts";
import { DomainRules } from "./domain-rules.ts";
import { createLevel, type Level, type RuleNode } from "./level.ts";
import { dumpConfig } from "./dump.ts";
import { limitNames, limitPaths, matchOf } from "./limit-paths.ts";
import type { Attach, Rule } from "./rule.ts";
import { compileWildcard } from "./wildcard.ts";

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

/** The values that a level inherits from the one above while it is compiled. */
interface Parent {
  readonly path: string;
  /** True if a flag of a level above makes matches below depend on request values. */
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
  for (const [domain, merged] of yield* byDomainSteps(configs)) {
    const known = before?.domain(domain);
    domains.set(domain, known?.isOf(merged) === true ? known : yield* compileDomain(domain, merged, attach));
    if (endsStep(domains.size)) yield;
  }
  return {
    domains: domains.size,
    domain: (name) => domains.get(name),
    all: () => domains.values(),
    dump: () => Array.from(domains.values(), ({ configs }) => configs.map(dumpConfig).join("")).join(""),
  };
}

/** The domains whose configurations are not all the same objects as in the set, in steps. */
export function* changedDomainSteps(
  configs: readonly RateLimitConfigModel[],
  before: RuleSet<unknown> | undefined,
): Generator<undefined, ReadonlySet<string>> {
  const changed = new Set<string>();
  let domains = 0;
  for (const [domain, merged] of yield* byDomainSteps(configs)) {
    if (before?.domain(domain)?.isOf(merged) !== true) changed.add(domain);
    if (endsStep((domains += 1))) yield;
  }
  return changed;
}

/** The configurations of each domain, in the order of the first ones. */
function* byDomainSteps(
  configs: readonly RateLimitConfigModel[],
): Generator<undefined, ReadonlyMap<string, readonly RateLimitConfigModel[]>> {
  const groups = new Map<string, RateLimitConfigModel[]>();
  for (const [index, config] of configs.entries()) {
    const { domain } = config;
    const group = groups.get(domain); // getOrInsertComputed() takes twice as long.
    if (group === undefined) groups.set(domain, [config]);
    else group.push(config);
    if (endsStep(index)) yield;
  }
  return groups;
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
  const attachments: (readonly Attachment[])[] = [];
  for (const descriptor of descriptors) {
    const path = `${parent.path}.${compositeKey(descriptor)}`;
    const limits = limitsOf(descriptor);
    const names = limitNames(limits);
    attachments.push(limitPaths(path, limits).map((each, index) => attach.rule(each, names[index])));
    yield;
  }
  const nodes: RuleNode<Attachment>[] = [];
  for (const [index, descriptor] of descriptors.entries()) {
    nodes.push(yield* compileNode(descriptor, attachments[index] ?? [], parent, attach, rules));
    yield;
  }
  return yield* createLevel(nodes);
}

function* compileNode<Attachment>(
  descriptor: DescriptorModel,
  attachments: readonly Attachment[],
  parent: Parent,
  attach: Attach<Attachment>,
  rules: Rule[],
): Generator<undefined, RuleNode<Attachment>> {
  const { metadata, valueToMetric, detailedMetric, showValues = false } = descriptor;
  const composite = compositeKey(descriptor);
  const wildcard = compileWildcard(descriptor.key, descriptor.value);
  const shareThreshold = descriptor.shareThreshold && wildcard !== undefined;
  const path = `${parent.path}.${composite}`;
  const isDynamic = parent.isDynamic || valueToMetric || shareThreshold;
  const rule = compileRule(descriptor, path);
  const match = rule && matchOf({ rule, statisticsKey: path, sharedValues: undefined, metadata }, attachments);
  if (rule !== undefined) rules.push(rule);
  // The fields that every match reads come first, to be on one line of the processor's cache: with
  // many rules that is what a match costs.
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
    showValues,
    metadata,
  };
}

function compileRule(descriptor: DescriptorModel, path: string): Rule | undefined {
  const limits = limitsOf(descriptor).map((limit) => compileLimit(limit, path));
  const [first] = limits;
  if (first === undefined) return undefined;
  const { model, limit, calendar, windowSeconds } = first;
  const cell = model.unlimited ? undefined : cellRuleOf(limits);
  return {
    path,
    limit,
    // Several limits are not in the store of those per second, even if they all are.
    windowSeconds: limits.length > 1 ? Math.max(2, ...limits.map((each) => each.windowSeconds)) : windowSeconds,
    unlimited: model.unlimited,
    shadowMode: descriptor.shadowMode,
    quotaMode: descriptor.quotaMode,
    replaces: model.replaces.map((replaced) => replaced.name),
    calendar: cell === undefined ? calendar : undefined,
    cell,
  };
}

function compileLimit(model: RateLimitModel, path: string): CompiledLimit {
  const { name, requestsPerUnit, unlimited, unitMultiplier } = model;
  if (unlimited) return { model, limit: { requestsPerUnit: 0, unit: 0, name }, windowSeconds: 0, calendar: undefined };
  const unit = parseUnit(model.unit);
  if (unit === undefined) throw new Error(`Rule ${path} reached the compiler with the unit '${model.unit}'`);
  const calendar = calendarWindowsOf(model);
  const isMultiplied = unitMultiplier !== undefined && unitMultiplier > 1;
  return {
    model,
    // A window of the calendar is not so many units long, so its multiplier would mislead.
    limit: {
      requestsPerUnit,
      unit: UNIT_NUMBERS[unit],
      ...(isMultiplied && calendar === undefined && { unitMultiplier }),
      name,
    },
    windowSeconds: calendar?.maxSeconds ?? UNIT_SECONDS[unit] * (unitMultiplier ?? 1),
    calendar,
  };
}
