// The limit that is played: a rule of the files, and how a pod counts it. Pure.
import { type CellRule, countInCell, emptyCell, FIXED_WINDOW } from "@weir/limits/cell/cell";
import { explainRequest } from "@weir/limits/explain/explain";
import { type DescriptorModel, limitsOf, type RateLimitModel } from "@weir/limits/model/model";
import { compileRules } from "@weir/limits/rules/compile";
import type { Entry, Rule } from "@weir/limits/rules/rule";

import type { ConfiguredDomain } from "../explain/configured-domain.ts";

/** A rule with its limits, which a request must pass all. */
export interface SimulatedLimit {
  readonly rule: Rule;
  readonly descriptor: DescriptorModel;
  readonly limits: readonly SimulatedWindow[];
}

/** A limit, and how long its window is; of windows of a calendar the one that the requests begin in. */
export interface SimulatedWindow {
  readonly model: RateLimitModel;
  readonly windowMs: number;
}

/** Most rules that are named when one has to be chosen. */
const NAMED_MAX = 12;

/** The rule that a descriptor matches, or the only one with a limit; a text is the problem. */
export function findLimit(
  domain: ConfiguredDomain,
  { descriptor: entries, startMs }: { readonly descriptor: readonly Entry[] | undefined; readonly startMs: number },
): SimulatedLimit | string {
  const found = entries === undefined ? onlyRule(domain) : matchedRule(domain, entries);
  if (typeof found === "string") return found;
  const { rule, descriptor } = found;
  if (rule.unlimited) return `the rule ${rule.path} is unlimited: every request passes`;
  const models = limitsOf(descriptor);
  const limits = cellOf(rule).limits.flatMap(({ windowMs, calendar }, index) => {
    const model = models[index];
    const window = calendar?.at(Math.floor(startMs / 1000));
    const lengthMs = window === undefined ? windowMs : (window.endSeconds - window.startSeconds) * 1000;
    return model === undefined ? [] : [{ model, windowMs: lengthMs }];
  });
  return { rule, descriptor, limits };
}

/** Decides requests with so many hits, in the order of time, as a store does for one client. */
export function counterOf(rule: Rule, hits: number): (nowMs: number) => boolean {
  const cell = cellOf(rule);
  const state = emptyCell(cell);
  return (nowMs) => countInCell(cell, state, { nowMs, hits, calls: 1 }) === 1;
}

/** The cell of the rule; for a plain count, one that counts the same. */
function cellOf({ cell, limit, windowSeconds, calendar }: Rule): CellRule {
  const windowMs = windowSeconds * 1000;
  const plain = { limit, algorithm: FIXED_WINDOW, windowMs, capacity: limit.requestsPerUnit, calendar } as const;
  return cell ?? { limits: [plain], countsRejected: true, wholeMs: windowMs, keyEnd: "" };
}

function matchedRule(
  { domain, rules }: ConfiguredDomain,
  entries: readonly Entry[],
): Pick<SimulatedLimit, "rule" | "descriptor"> | string {
  const [explained] = explainRequest(domain, rules, { descriptors: [entries], atMs: 0, keyPrefix: "" });
  const descriptor = explained?.taken.at(-1);
  if (explained?.match === undefined || descriptor === undefined)
    return `no limit of the domain ${JSON.stringify(domain)} matches the descriptor: weir explain says why`;
  return { rule: explained.match.rule, descriptor };
}

function onlyRule({
  domain,
  rules: descriptors,
}: ConfiguredDomain): Pick<SimulatedLimit, "rule" | "descriptor"> | string {
  const attach = { rule: (path: string) => path, dynamic: (path: string) => path };
  const rules = compileRules([{ name: domain, domain, descriptors }], attach).domain(domain)?.rules ?? [];
  const [rule, another] = rules;
  const descriptor = findDescriptor(descriptors);
  if (rule === undefined || descriptor === undefined)
    return `no rule of the domain ${JSON.stringify(domain)} has a limit`;
  if (another === undefined) return { rule, descriptor };
  const names = rules.slice(0, NAMED_MAX).map(({ path }) => path);
  const more = rules.length > names.length ? ` and ${rules.length - names.length} more` : "";
  return `${rules.length} rules have a limit, choose one with --descriptor: ${names.join(", ")}${more}`;
}

/** The first descriptor with a limit. */
function findDescriptor(descriptors: readonly DescriptorModel[]): DescriptorModel | undefined {
  for (const descriptor of descriptors) {
    const found = limitsOf(descriptor).length > 0 ? descriptor : findDescriptor(descriptor.descriptors);
    if (found !== undefined) return found;
  }
  return undefined;
}
