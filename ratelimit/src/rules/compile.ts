// Compiles validated configurations to the immutable rule set that decisions read. It does not
// judge them: the validator of @weir/proto has.
import {
  compositeKey,
  type DescriptorModel,
  type RateLimitConfigModel,
  type RateLimitModel,
} from "@weir/limits/model/model";
import { parseUnit, UNIT_NUMBERS, UNIT_SECONDS, unitOfNumber } from "@weir/limits/model/unit";
import type { RuleStatistics, StatisticsStore } from "../statistics/statistics-store.ts";
import { createDomainRules } from "./domain-rules.ts";
import { createLevel, type Level, type RuleNode } from "./level.ts";
import type { DomainRules, Rule, RuleLimit, RuleSet } from "./rule-set.ts";
import { compileWildcard } from "./wildcard.ts";

/** What /rlconfig prints as the unit of an unlimited rule. */
const NO_UNIT = "UNKNOWN";

/** What one level hands down to the next while compiling. */
interface Place {
  readonly path: string;
  /** Whether a flag of a level above makes matches below depend on request values. */
  readonly isDynamic: boolean;
}

/**
 * Compiles configurations that `findSetProblems` found nothing in. Several of one domain are
 * merged, in the order given. The statistics of all rules exist at zero afterwards; those of
 * unchanged keys go on, those of keys that are gone are dropped. Call it only for a set that comes
 * into force.
 */
export function compileRules(
  configs: readonly RateLimitConfigModel[],
  deps: { readonly statistics: StatisticsStore },
): RuleSet {
  const descriptorsByDomain = new Map<string, DescriptorModel[]>();
  for (const config of configs) {
    const descriptors = descriptorsByDomain.get(config.domain);
    if (descriptors === undefined) descriptorsByDomain.set(config.domain, [...config.descriptors]);
    else descriptors.push(...config.descriptors);
  }
  const paths: string[] = [];
  for (const [domain, descriptors] of descriptorsByDomain) collectPaths(domain, descriptors, paths);
  const statistics = deps.statistics.replaceRules(paths);
  const domains = new Map<string, DomainRules>();
  const lines: string[] = [];
  for (const [domain, descriptors] of descriptorsByDomain) {
    const root = compileLevel(descriptors, { path: domain, isDynamic: false }, statistics, lines);
    domains.set(domain, createDomainRules(domain, root, deps));
  }
  return { domains: domains.size, domain: (name) => domains.get(name), dump: () => lines.join("") };
}

function collectPaths(parent: string, descriptors: readonly DescriptorModel[], paths: string[]): void {
  for (const descriptor of descriptors) {
    const path = `${parent}.${compositeKey(descriptor)}`;
    if (descriptor.rateLimit !== undefined) paths.push(path);
    collectPaths(path, descriptor.descriptors, paths);
  }
}

function compileLevel(
  descriptors: readonly DescriptorModel[],
  parent: Place,
  statistics: ReadonlyMap<string, RuleStatistics>,
  lines: string[],
): Level {
  return createLevel(descriptors.map((descriptor) => compileNode(descriptor, parent, statistics, lines)));
}

function compileNode(
  descriptor: DescriptorModel,
  parent: Place,
  statistics: ReadonlyMap<string, RuleStatistics>,
  lines: string[],
): RuleNode {
  const composite = compositeKey(descriptor);
  const wildcard = compileWildcard(descriptor.key, descriptor.value);
  const isShared = descriptor.shareThreshold && wildcard !== undefined;
  const place: Place = {
    path: `${parent.path}.${composite}`,
    isDynamic: parent.isDynamic || descriptor.valueToMetric || isShared,
  };
  const rule =
    descriptor.rateLimit === undefined ? undefined : compileRule(descriptor, descriptor.rateLimit, place.path);
  if (rule !== undefined) lines.push(dumpLine(rule));
  const counters = statistics.get(place.path);
  const isStatic = rule !== undefined && counters !== undefined && !place.isDynamic && !descriptor.detailedMetric;
  // What every match reads comes first, to be on one line of the processor's cache: with many rules
  // that is what a match costs.
  return {
    children:
      descriptor.descriptors.length === 0 ? undefined : compileLevel(descriptor.descriptors, place, statistics, lines),
    rule,
    staticMatch: isStatic
      ? {
          rule,
          statisticsKey: place.path,
          statistics: counters,
          sharedValues: undefined,
          metadata: descriptor.metadata,
        }
      : undefined,
    composite,
    wildcard,
    valueToMetric: descriptor.valueToMetric,
    detailedMetric: descriptor.detailedMetric,
    shareThreshold: isShared,
    metadata: descriptor.metadata,
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
