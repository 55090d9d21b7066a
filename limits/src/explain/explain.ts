// The way of a request through the rules, step by step: the matcher's own steps, and for each step
// the reason why every other rule of the level was not taken.
import { compositeKey, type DescriptorModel } from "../model/model.ts";
import { compileRules } from "../rules/compile.ts";
import type { DomainRules } from "../rules/domain-rules.ts";
import { reachOf } from "../rules/level.ts";
import type { Entry, Rule, RuleMatch } from "../rules/rule.ts";
import { DYNAMIC_KEY_MAX_LENGTH, ruleStatisticName } from "../rules/statistic-name.ts";
import { compileWildcard } from "../rules/wildcard.ts";
import { replacedNames, replacingIndex } from "../classify/replaced.ts";
import { CounterKeys } from "../rules/counter-key.ts";
import { secondsUntilReset, windowStartSeconds } from "../window/window.ts";

/** Why a rule of a level was taken for an entry, or not. */
export type Verdict =
  /** Taken: its key and value are the entry's. */
  | "exact"
  /** Taken: the first pattern that matches, and nothing matches exactly. */
  | "pattern"
  /** Taken: any value of the key, and nothing else matches. */
  | "any-value"
  /** It would match, but another rule comes first. */
  | "comes-later"
  /** A pattern that does not match. */
  | "pattern-differs"
  /** The key is the entry's, the value is not. */
  | "value-differs"
  /** Another key. */
  | "key-differs";

/** One entry and the rules of the level it was looked up in, in configured order. */
export interface ExplainedLevel {
  readonly entry: Entry;
  readonly candidates: readonly { readonly descriptor: DescriptorModel; readonly verdict: Verdict }[];
}

/** The result for a descriptor. */
export type Outcome =
  /** A rule with a limit. */
  | "limit"
  /** No rule of the level matches the entry. */
  | "no-rule"
  /** There are more entries than levels of rules; a limit on the way does not count. */
  | "too-many-entries"
  /** A rule without a limit, which has rules below it for a further entry. */
  | "needs-more-entries"
  /** A rule without a limit and without rules below it: an exemption. */
  | "exempt";

/** The window that a request is counted in, in seconds since the epoch. */
export interface Window {
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** Whole seconds until the next window begins, 1 to the length of the window. */
  readonly resetSeconds: number;
}

/** One descriptor of the request, and its limit. */
export interface ExplainedDescriptor {
  readonly entries: readonly Entry[];
  readonly levels: readonly ExplainedLevel[];
  readonly outcome: Outcome;
  /** The rules that were taken, from the outermost on. */
  readonly taken: readonly DescriptorModel[];
  /** The limit; the attachment is what the names of its counters begin with. */
  readonly match: RuleMatch<string> | undefined;
  /**
   * undefined when nothing is counted: no limit, an unlimited or a replaced one. Without a window where the key
   * has the state of a sliding window, of a token bucket or of several limits.
   */
  readonly counter: { readonly key: string; readonly window: Window | undefined } | undefined;
  /** The descriptor of the call, counted from 1, whose rule replaces this one's, and the name. */
  readonly replacedBy: { readonly descriptor: number; readonly name: string } | undefined;
}

export interface ExplainedRequest {
  readonly descriptors: readonly (readonly Entry[])[];
  /** Time of the request in milliseconds since the epoch. */
  readonly atMs: number;
  /** CACHE_KEY_PREFIX of the pod. */
  readonly keyPrefix: string;
}

/** Explains every descriptor of a request to a domain with these validated rules. */
export function explainRequest(
  domain: string,
  rules: readonly DescriptorModel[],
  request: ExplainedRequest,
): readonly ExplainedDescriptor[] {
  const compiled = compileRules([{ name: domain, domain, descriptors: rules }], {
    rule: ruleStatisticName,
    dynamic: (key, path) => ruleStatisticName(key.length > DYNAMIC_KEY_MAX_LENGTH ? path : key),
  }).domain(domain);
  if (compiled === undefined) throw new Error(`The domain ${domain} is not among its own rules`);
  const keys = new CounterKeys(request.keyPrefix);
  const nowSeconds = Math.floor(request.atMs / 1000);
  const matches = request.descriptors.map((entries) => compiled.match(entries));
  const replaced = replacedNames(matches);
  return request.descriptors.map((entries, index) => {
    const match = matches[index];
    const replacing = match && replacingIndex(match.rule, replaced);
    const isCounted = match !== undefined && !match.rule.unlimited && replacing === undefined;
    return {
      entries,
      ...followSteps(compiled, rules, entries, match !== undefined),
      match,
      counter: isCounted ? counterOf(keys, compiled, match, entries, nowSeconds) : undefined,
      replacedBy:
        match === undefined || replacing === undefined
          ? undefined
          : { descriptor: replacing + 1, name: match.rule.limit.name },
    };
  });
}

function followSteps(
  compiled: DomainRules<string>,
  rules: readonly DescriptorModel[],
  entries: readonly Entry[],
  hasLimit: boolean,
): Pick<ExplainedDescriptor, "levels" | "outcome" | "taken"> {
  const levels: ExplainedLevel[] = [];
  const taken: DescriptorModel[] = [];
  const steps = compiled.steps(entries);
  let level = rules;
  for (const [index, entry] of entries.entries()) {
    const last = taken.at(-1);
    if (last !== undefined && level.length === 0) return { levels, outcome: "too-many-entries", taken };
    // Composites are unique in their level.
    const composite = steps[index]?.node.composite;
    const chosen = level.find((descriptor) => compositeKey(descriptor) === composite);
    levels.push({
      entry,
      candidates: level.map((each) => ({ descriptor: each, verdict: verdictOf(each, entry, each === chosen) })),
    });
    if (chosen === undefined) return { levels, outcome: "no-rule", taken };
    taken.push(chosen);
    level = chosen.descriptors;
  }
  if (hasLimit) return { levels, outcome: "limit", taken };
  if (taken.length === 0) return { levels, outcome: "no-rule", taken };
  return { levels, outcome: level.length > 0 ? "needs-more-entries" : "exempt", taken };
}

const TAKEN = { exact: "exact", wildcard: "pattern", key: "any-value" } as const;

function verdictOf(descriptor: DescriptorModel, entry: Entry, isTaken: boolean): Verdict {
  const wildcard = compileWildcard(descriptor.key, descriptor.value);
  const reach = reachOf({ composite: compositeKey(descriptor), wildcard }, entry);
  if (reach !== undefined) return isTaken ? TAKEN[reach] : "comes-later";
  if (wildcard !== undefined && (descriptor.key === entry.key || descriptor.key.includes("*")))
    return "pattern-differs";
  return descriptor.key === entry.key ? "value-differs" : "key-differs";
}

function counterOf(
  keys: CounterKeys,
  compiled: DomainRules<string>,
  match: RuleMatch<string>,
  entries: readonly Entry[],
  nowSeconds: number,
): ExplainedDescriptor["counter"] {
  const window = match.rule.cell === undefined ? windowOf(match.rule, nowSeconds) : undefined;
  return { key: keys.key(compiled, match, entries, window?.startSeconds ?? 0), window };
}

function windowOf({ calendar, windowSeconds }: Rule, nowSeconds: number): Window {
  if (calendar !== undefined) {
    const { startSeconds, endSeconds } = calendar.at(nowSeconds);
    return { startSeconds, endSeconds, resetSeconds: endSeconds - nowSeconds };
  }
  const startSeconds = windowStartSeconds(nowSeconds, windowSeconds);
  return {
    startSeconds,
    endSeconds: startSeconds + windowSeconds,
    resetSeconds: secondsUntilReset(nowSeconds, windowSeconds),
  };
}
