// Follows a descriptor's entries through the rules and says of every rule why it was taken or not.
// The decision itself is the matcher's of the rate limit service; that both agree is proved in the
// tests. Pure.
import { compositeKey } from "@weir/limits/model/model";
import { compileWildcard, matchesWildcard } from "@weir/ratelimit/rules/wildcard";

import type { FileLocation } from "../check/check-text.ts";
import type { RequestEntry } from "./arguments.ts";
import type { PlacedRule } from "./configured-domain.ts";

/** How a rule stands to an entry. */
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

/** One rule of a level, looked at for one entry. */
export interface Candidate {
  /** Key and value as the rule is called among its siblings, such as `path_/cart`. */
  readonly rule: string;
  readonly place: FileLocation;
  readonly verdict: Verdict;
}

/** One entry and the rules it was looked up among. */
export interface TraceLevel {
  readonly entry: RequestEntry;
  /** In configured order. */
  readonly candidates: readonly Candidate[];
}

/** Where the entries lead. */
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

/** The way of one descriptor. */
export interface Trace {
  readonly levels: readonly TraceLevel[];
  readonly outcome: Outcome;
  /** The last rule that was taken. */
  readonly last: PlacedRule | undefined;
  /** Composite keys of the rules that were taken. */
  readonly path: readonly string[];
}

/** Follows the entries. */
export function traceDescriptor(rules: readonly PlacedRule[], entries: readonly RequestEntry[]): Trace {
  const levels: TraceLevel[] = [];
  const path: string[] = [];
  let level = rules;
  let last: PlacedRule | undefined;
  for (const entry of entries) {
    if (last !== undefined && level.length === 0) return { levels, outcome: "too-many-entries", last, path };
    const { candidates, taken } = judgeLevel(level, entry);
    levels.push({ entry, candidates });
    if (taken === undefined) return { levels, outcome: "no-rule", last, path };
    path.push(compositeKey(taken.model));
    last = taken;
    level = taken.children;
  }
  return { levels, outcome: outcomeAt(last), last, path };
}

function outcomeAt(last: PlacedRule | undefined): Outcome {
  if (last === undefined) return "no-rule";
  if (last.model.rateLimit !== undefined) return "limit";
  return last.children.length > 0 ? "needs-more-entries" : "exempt";
}

/** How a rule could match an entry, before its siblings are looked at. */
type Reach = "exact" | "pattern" | "any-value" | "pattern-differs" | "value-differs" | "key-differs";

/** The order in which matching rules are preferred: decided by kind first, by place second. */
const PREFERENCE: readonly Reach[] = ["exact", "pattern", "any-value"];

function judgeLevel(
  level: readonly PlacedRule[],
  entry: RequestEntry,
): { readonly candidates: readonly Candidate[]; readonly taken: PlacedRule | undefined } {
  const judged = level.map((rule) => ({ rule, reach: reachOf(rule, entry) }));
  const best = PREFERENCE.map((reach) => judged.find((candidate) => candidate.reach === reach)).find(
    (found) => found !== undefined,
  );
  const candidates = judged.map((candidate): Candidate => {
    const { rule, reach } = candidate;
    const verdict = candidate !== best && PREFERENCE.includes(reach) ? "comes-later" : reach;
    return { rule: compositeKey(rule.model), place: rule.place, verdict };
  });
  return { candidates, taken: best?.rule };
}

function reachOf({ model }: PlacedRule, entry: RequestEntry): Reach {
  const composite = compositeKey(model);
  if (composite === `${entry.key}_${entry.value}`) return "exact";
  const wildcard = compileWildcard(model.key, model.value);
  if (wildcard !== undefined && matchesWildcard(wildcard, entry.key, entry.value)) return "pattern";
  if (composite === entry.key) return "any-value";
  if (wildcard !== undefined && (model.key === entry.key || model.key.includes("*"))) return "pattern-differs";
  return model.key === entry.key ? "value-differs" : "key-differs";
}
