// What `weir explain` found, for people and for programs. Pure.
import { displayWidth, padToWidth } from "../command-line/display-width.ts";
import { counted, printable } from "../command-line/printable.ts";
import type { FileLocation } from "../check/check-text.ts";
import type { ConfiguredDomain } from "./configured-domain.ts";
import type { ExplainedDescriptor, ExplainedRule, Window } from "./explain.ts";
import type { Candidate, Trace, TraceLevel, Verdict } from "./trace.ts";

/**
 * Most rules of one level that are shown to people, those with the entry's key first; the JSON form
 * has all of them.
 */
const SHOWN_MAX = 12;

const VERDICTS: Readonly<Record<Verdict, string>> = {
  exact: "taken: exactly this value",
  pattern: "taken: the first pattern that matches",
  "any-value": "taken: any value of this key",
  "comes-later": "matches too, but comes later",
  "pattern-differs": "the pattern does not match",
  "value-differs": "another value",
  "key-differs": "another key",
};

const TAKEN: ReadonlySet<Verdict> = new Set(["exact", "pattern", "any-value"]);

/** Several lines for each descriptor. */
export function explainText(domain: ConfiguredDomain, descriptors: readonly ExplainedDescriptor[]): string {
  const lines = [`domain ${domain.domain} (${placeText(domain.place)})`];
  descriptors.forEach((descriptor, index) => {
    const entries = descriptor.entries.map(({ key, value }) => `${key}=${value}`).join(", ");
    lines.push("", `descriptor ${index + 1}: ${entries}`);
    descriptor.trace.levels.forEach((level, depth) => lines.push(...levelLines(level, depth)));
    lines.push(...outcomeLines(descriptor));
  });
  return `${lines.map(printable).join("\n")}\n`;
}

/** One JSON object. */
export function explainJson(domain: ConfiguredDomain, descriptors: readonly ExplainedDescriptor[]): string {
  const explained = descriptors.map(({ entries, trace, rule, replacedBy }) => {
    const { outcome, levels, path } = trace;
    return {
      entries,
      outcome: replacedBy === undefined ? outcome : "replaced",
      path,
      rule: rule ?? null,
      replacedBy,
      levels,
    };
  });
  return `${JSON.stringify({ domain: domain.domain, place: domain.place, descriptors: explained }, undefined, 2)}\n`;
}

function levelLines({ entry, candidates }: TraceLevel, depth: number): readonly string[] {
  const near = candidates.filter(({ verdict }) => verdict !== "key-differs");
  const taken = near.find(({ verdict }) => TAKEN.has(verdict));
  const others = near.filter((candidate) => candidate !== taken).slice(0, SHOWN_MAX - 1);
  const shown = candidates.filter((candidate) => candidate === taken || others.includes(candidate));
  const width = Math.max(0, ...shown.map(({ rule }) => displayWidth(rule)));
  const rows = shown.map((candidate) => candidateLine(candidate, width));
  const hidden = near.length - shown.length;
  const strange = candidates.length - near.length;
  return [
    `  level ${depth + 1}: ${entry.key}=${entry.value}`,
    ...rows,
    ...(hidden > 0
      ? [`      and ${counted(hidden, "more rule")} that ${hidden === 1 ? "was" : "were"} not taken`]
      : []),
    ...(strange > 0 ? [`      and ${counted(strange, "rule")} with another key`] : []),
  ];
}

function candidateLine({ rule, place, verdict }: Candidate, width: number): string {
  return `    ${TAKEN.has(verdict) ? ">" : " "} ${padToWidth(rule, width)}  ${VERDICTS[verdict]} (${placeText(place)})`;
}

function outcomeLines({ trace, rule, replacedBy, entries }: ExplainedDescriptor): readonly string[] {
  if (rule === undefined) return [`  no limit: ${noLimitText(trace, entries.length)}`];
  const replaced =
    replacedBy === undefined
      ? []
      : [
          `  replaced: the limit of descriptor ${replacedBy.descriptor} replaces ${replacedBy.name}; this one is neither counted nor enforced`,
        ];
  return [...ruleLines(rule), ...replaced];
}

function noLimitText(trace: Trace, entries: number): string {
  const { levels, outcome, last } = trace;
  const entry = levels.at(-1)?.entry;
  switch (outcome) {
    case "no-rule":
      return `no rule of level ${levels.length} matches ${entry?.key ?? ""}=${entry?.value ?? ""}, and other rules are not tried again`;
    case "too-many-entries":
      return `the descriptor has ${entries} entries, the rules on this way end at level ${levels.length}${
        last?.model.rateLimit === undefined ? "" : "; the limit there is for descriptors that end there"
      }`;
    case "needs-more-entries":
      return `the rule ${trace.path.at(-1) ?? ""} has none; the rules below it want a further entry`;
    case "exempt":
      return `the rule ${trace.path.at(-1) ?? ""} has none, which exempts what it matches`;
    case "limit":
      // Only when the matcher and the trace disagree, which a test rules out.
      return "the rule was not found";
  }
}

function ruleLines(rule: ExplainedRule): readonly string[] {
  const flags = [
    ...(rule.shadowMode ? ["shadow mode: counted, never enforced"] : []),
    ...(rule.quotaMode ? ["quota mode: rejects only when every rule in quota mode is over its limit"] : []),
    ...(rule.detailedMetric ? ["detailed metric"] : []),
    ...(rule.sharesCounter ? ["share threshold: all values of the pattern share one counter"] : []),
  ];
  const name = rule.name === "" ? "" : `, named ${rule.name}`;
  const limit = rule.unlimited
    ? "unlimited"
    : `${rule.requestsPerUnit} per ${rule.unit}${rule.requestsPerUnit === 0 ? ": every request is rejected" : ""}`;
  return [
    `  limit       ${limit}${name}`,
    `  rule        ${rule.path} (${placeText(rule.place)})`,
    ...flags.map((flag) => `  flag        ${flag}`),
    ...(rule.replaces.length === 0 ? [] : [`  replaces    ${rule.replaces.join(", ")}`]),
    ...(rule.metadata === undefined ? [] : [`  metadata    ${JSON.stringify(rule.metadata)}`]),
    `  statistics  ${rule.statistics}.*`,
    ...(rule.counterKey === undefined ? [] : [`  counter     ${rule.counterKey}`]),
    ...(rule.window === undefined ? [] : [`  window      ${windowText(rule.window)}`]),
  ];
}

function windowText({ startSeconds, endSeconds, resetSeconds }: Window): string {
  return `${timeText(startSeconds)} to ${timeText(endSeconds)}, begins anew in ${resetSeconds} s`;
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

function placeText({ path, line, column }: FileLocation): string {
  return `${path}:${line}:${column}`;
}
