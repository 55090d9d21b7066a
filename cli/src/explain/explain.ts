// What a rate limit pod would do with the descriptors of one request: the rule, its limit, its
// names in statistics and counter store. The decision is that of the service's own matcher; nothing
// is counted. Pure.
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { unitOfNumber } from "@weir/limits/model/unit";
import type { RuleMatch } from "@weir/ratelimit/rules/rule-set";
import { compileTrialRules } from "@weir/ratelimit/rules/trial-rules";

import type { FileLocation } from "../check/check-text.ts";
import type { RequestEntry } from "./arguments.ts";
import type { ConfiguredDomain, PlacedRule } from "./configured-domain.ts";
import { traceDescriptor } from "./trace.ts";
import type { Trace } from "./trace.ts";

/** The window that a request is counted in. */
export interface Window {
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** Whole seconds until the counter begins anew, 1 to the length of the window. */
  readonly resetSeconds: number;
}

/** The rule that limits a descriptor. */
export interface ExplainedRule {
  /** Domain and rules on the way, joined by dots. */
  readonly path: string;
  readonly place: FileLocation;
  readonly unlimited: boolean;
  /** Absent when unlimited. */
  readonly requestsPerUnit?: number;
  readonly unit?: string;
  readonly name: string;
  readonly replaces: readonly string[];
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly detailedMetric: boolean;
  readonly metadata?: RuleMatch["metadata"];
  /** What its counters begin with, such as `ratelimit.service.rate_limit.shop.path`. */
  readonly statistics: string;
  /** Key in the counter store, and the window it is for; absent when nothing is counted. */
  readonly counterKey?: string;
  readonly window?: Window;
  /** Whether values that match the pattern share the counter. */
  readonly sharesCounter: boolean;
}

/** One descriptor, and what becomes of it. */
export interface ExplainedDescriptor {
  readonly entries: readonly RequestEntry[];
  readonly trace: Trace;
  readonly rule?: ExplainedRule;
  /**
   * The descriptor of the call, counted from 1, whose rule switches this one's off, and the name by
   * which it does.
   */
  readonly replacedBy?: { readonly descriptor: number; readonly name: string };
}

/** Explains every descriptor of one request. */
export function explainRequest(
  domain: ConfiguredDomain,
  descriptors: readonly (readonly RequestEntry[])[],
  options: { readonly atMs: number; readonly keyPrefix: string },
): readonly ExplainedDescriptor[] {
  const matcher = compileTrialRules([modelOf(domain)]).domain(domain.domain);
  const found = descriptors.map((entries) => ({
    entries,
    trace: traceDescriptor(domain.rules, entries),
    match: entries.length === 0 ? undefined : matcher?.match(entries),
  }));
  return found.map(({ entries, trace, match }) => {
    if (match === undefined || trace.last === undefined) return { entries, trace };
    const { rule } = match;
    // A replaced rule that is unlimited stays unlimited.
    const by =
      rule.unlimited || rule.limit.name === ""
        ? -1
        : found.findIndex((other) => other.match?.rule.replaces.includes(rule.limit.name));
    const replaced = by === -1 ? {} : { replacedBy: { descriptor: by + 1, name: rule.limit.name } };
    const isCounted = !rule.unlimited && by === -1;
    const counter = isCounted ? counterOf(domain.domain, entries, match, options) : {};
    return { entries, trace, rule: { ...explainRule(match, trace.last), ...counter }, ...replaced };
  });
}

/** Start and end of the window of this length, in seconds, that holds a time. */
export function windowAt(atMs: number, windowSeconds: number): Window {
  const nowSeconds = Math.floor(atMs / 1000);
  const startSeconds = nowSeconds - (nowSeconds % windowSeconds);
  const endSeconds = startSeconds + windowSeconds;
  return { startSeconds, endSeconds, resetSeconds: endSeconds - nowSeconds };
}

function explainRule(match: RuleMatch, { model, place }: PlacedRule): ExplainedRule {
  const { rule } = match;
  const unit = unitOfNumber(rule.limit.unit);
  return {
    path: rule.path,
    place,
    unlimited: rule.unlimited,
    ...(unit === undefined ? {} : { requestsPerUnit: rule.limit.requestsPerUnit, unit: unit.toLowerCase() }),
    name: rule.limit.name,
    replaces: rule.replaces,
    shadowMode: rule.shadowMode,
    quotaMode: rule.quotaMode,
    detailedMetric: model.detailedMetric,
    ...(match.metadata === undefined ? {} : { metadata: match.metadata }),
    statistics: match.statistics.prefix,
    sharesCounter: match.sharedValues !== undefined,
  };
}

/**
 * The counter of a match. The key is composed as the service and the field's stores have it:
 * without escaping, the window's start last.
 */
function counterOf(
  domain: string,
  entries: readonly RequestEntry[],
  match: RuleMatch,
  options: { readonly atMs: number; readonly keyPrefix: string },
): Pick<ExplainedRule, "counterKey" | "window"> {
  const window = windowAt(options.atMs, match.rule.windowSeconds);
  const parts = entries.map(({ key, value }, index) => {
    const shared = match.sharedValues?.[index] ?? "";
    return `${key}_${shared === "" ? value : shared}_`;
  });
  return { counterKey: `${options.keyPrefix}${domain}_${parts.join("")}${window.startSeconds}`, window };
}

function modelOf(domain: ConfiguredDomain): RateLimitConfigModel {
  return { name: domain.domain, domain: domain.domain, descriptors: domain.rules.map(({ model }) => model) };
}
