// An explained request as text for people. Pure.
import type { ExplainedDescriptor, ExplainedLevel, Window } from "@weir/limits/explain/explain";
import { limitText } from "@weir/limits/explain/limit-text";
import { compositeKey, limitsOf } from "@weir/limits/model/model";
import { countText } from "@weir/proto/explain/count-text";
import type { PodCounts } from "@weir/proto/generated/weir/console/v1/console_pb";
import type { DescriptorCounts } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { TAKEN_VERDICTS, VERDICT_TEXTS } from "@weir/proto/explain/verdict-text";

import { placeText } from "../check/check-text.ts";
import { displayWidth, padToWidth } from "../command-line/display-width.ts";
import { counted, printable } from "../command-line/printable.ts";
import type { ConfiguredDomain } from "./configured-domain.ts";

/** Most rules of one level in the text, those with the entry's key first; the JSON has all. */
const SHOWN_MAX = 12;

/** Several lines for each descriptor. */
export function explainText(
  domain: ConfiguredDomain,
  descriptors: readonly ExplainedDescriptor[],
  counts?: PodCounts,
): string {
  const lines = [`domain ${domain.domain} (${placeText(domain.place)})`];
  if (domain.shadowAt !== undefined)
    lines.push(`shadow mode of all rules: counted, never enforced (${placeText(domain.shadowAt)})`);
  if (counts !== undefined) lines.push(`counts as the pod ${counts.pod} reads them`);
  descriptors.forEach((descriptor, index) => {
    const entries = descriptor.entries.map(({ key, value }) => `${key}=${value}`).join(", ");
    lines.push("", `descriptor ${index + 1}: ${entries}`);
    descriptor.levels.forEach((level, depth) => lines.push(...levelLines(domain, level, depth)));
    lines.push(...outcomeLines(domain, descriptor), ...countLines(descriptor, counts?.descriptors[index]));
  });
  return `${lines.map(printable).join("\n")}\n`;
}

/** A pod may have other rules than those that are explained: it has not loaded them yet. */
function countLines({ match }: ExplainedDescriptor, counts: DescriptorCounts | undefined): readonly string[] {
  const { path = "", limits = [] } = counts ?? {};
  if (limits.length === 0) return [];
  const other = path === match?.rule.path ? [] : [`  count now   of another rule, which the pod has: ${path}`];
  return [
    ...other,
    ...limits.map((count) => `  count now   ${limits.length === 1 ? "" : `${count.limit}: `}${countText(count)}`),
  ];
}

function levelLines(domain: ConfiguredDomain, level: ExplainedLevel, depth: number): readonly string[] {
  const { entry } = level;
  const candidates = level.candidates.map(({ descriptor, verdict }) => {
    return { rule: compositeKey(descriptor), place: domain.placeOf(descriptor), verdict };
  });
  const near = candidates.filter(({ verdict }) => verdict !== "key-differs");
  const taken = near.find(({ verdict }) => TAKEN_VERDICTS.has(verdict));
  const others = near.filter((candidate) => candidate !== taken).slice(0, SHOWN_MAX - 1);
  const shown = candidates.filter((candidate) => candidate === taken || others.includes(candidate));
  const width = Math.max(0, ...shown.map(({ rule }) => displayWidth(rule)));
  const rows = shown.map(({ rule, place, verdict }) => {
    const mark = TAKEN_VERDICTS.has(verdict) ? ">" : " ";
    return `    ${mark} ${padToWidth(rule, width)}  ${VERDICT_TEXTS[verdict]} (${placeText(place)})`;
  });
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

function outcomeLines(domain: ConfiguredDomain, descriptor: ExplainedDescriptor): readonly string[] {
  const { match, replacedBy } = descriptor;
  if (match === undefined) return [`  no limit: ${noLimitText(descriptor)}`];
  const lines = ruleLines(domain, descriptor, match);
  if (replacedBy === undefined) return lines;
  const by = `the limit of descriptor ${replacedBy.descriptor} replaces ${replacedBy.name}`;
  return [...lines, `  replaced: ${by}; this one is neither counted nor enforced`];
}

function noLimitText({ levels, outcome, taken, entries }: ExplainedDescriptor): string {
  const entry = levels.at(-1)?.entry;
  const last = taken.at(-1);
  const rule = last === undefined ? "" : compositeKey(last);
  switch (outcome) {
    case "no-rule":
      return `no rule of level ${levels.length} matches ${entry?.key ?? ""}=${entry?.value ?? ""}, and other rules are not tried again`;
    case "too-many-entries":
      return `the descriptor has ${entries.length} entries, the rules on this way end at level ${levels.length}${
        last === undefined || limitsOf(last).length === 0 ? "" : "; the limit there is for descriptors that end there"
      }`;
    case "needs-more-entries":
      return `the rule ${rule} has none; the rules below it want a further entry`;
    case "exempt":
    case "limit": // Never asked for: a limit has a match.
      return `the rule ${rule} has none, which exempts what it matches`;
  }
}

function ruleLines(
  domain: ConfiguredDomain,
  { taken, counter }: ExplainedDescriptor,
  { rule, metadata, attachment, attachments = [attachment], sharedValues }: NonNullable<ExplainedDescriptor["match"]>,
): readonly string[] {
  const leaf = taken.at(-1);
  const flags = [
    ...(rule.shadowMode ? ["shadow mode: counted, never enforced"] : []),
    ...(rule.quotaMode ? ["quota mode: rejects only when every rule in quota mode is over its limit"] : []),
    ...(leaf?.detailedMetric === true ? ["detailed metric"] : []),
    ...(sharedValues === undefined ? [] : ["share threshold: all values of the pattern share one counter"]),
  ];
  const limits = leaf === undefined ? [] : limitsOf(leaf);
  return [
    ...limits.map((limit) => `  limit       ${limitText(limit)}`),
    `  rule        ${rule.path}${leaf === undefined ? "" : ` (${placeText(domain.placeOf(leaf))})`}`,
    ...flags.map((flag) => `  flag        ${flag}`),
    ...(rule.replaces.length === 0 ? [] : [`  replaces    ${rule.replaces.join(", ")}`]),
    ...(metadata === undefined ? [] : [`  metadata    ${JSON.stringify(metadata)}`]),
    ...attachments.map((statistics) => `  statistics  ${statistics}.*`),
    ...(counter === undefined ? [] : [`  counter     ${counter.key}`]),
    ...(counter?.window === undefined ? [] : [`  window      ${windowText(counter.window)}`]),
  ];
}

function windowText({ startSeconds, endSeconds, resetSeconds }: Window): string {
  return `${timeText(startSeconds)} to ${timeText(endSeconds)}, begins anew in ${resetSeconds} s`;
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}
