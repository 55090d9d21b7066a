// Finds rules whose counts start anew when they replace live ones, because a counter's key follows from how it
// counts. Pure.
import { limitText } from "@weir/limits/explain/limit-text";
import type { FieldPath } from "@weir/limits/model/field-path";
import {
  DEFAULT_ALGORITHM,
  compositeKey,
  type DescriptorModel,
  isPlainCount,
  limitsOf,
  type RateLimitModel,
} from "@weir/limits/model/model";
import { parseUnit, UNIT_SECONDS } from "@weir/limits/model/unit";

import { type CheckedRules, placeText } from "./check-text.ts";

/** A rule that counts anew. */
export interface CountsAnew {
  /** To its limit, from the configuration on. */
  readonly path: FieldPath;
  readonly message: string;
}

/** A live rule with limits that count. */
interface LiveRule {
  readonly limits: readonly RateLimitModel[];
  readonly rules: CheckedRules;
  readonly path: FieldPath;
}

/** The live rules, by domain and composite keys. */
export type LiveRules = ReadonlyMap<string, readonly LiveRule[]>;

/** Collects live rules. One domain may have different rules in different fleets. */
export function liveRulesOf(all: readonly CheckedRules[]): LiveRules {
  const found = all.flatMap((rules) =>
    countingRules(rules).map(({ name, limits, path }) => ({ name, live: { limits, rules, path } })),
  );
  return new Map(
    [...Map.groupBy(found, ({ name }) => name)].map(([name, group]) => [name, group.map(({ live }) => live)]),
  );
}

/** The rules that are live too, and count differently than each live one. */
export function countsAnew(rules: CheckedRules, live: LiveRules): readonly CountsAnew[] {
  return countingRules(rules).flatMap(({ name, limits, path }) => {
    const before = live.get(name) ?? [];
    const [first] = before;
    if (first === undefined || before.some((each) => countingOf(each.limits) === countingOf(limits))) return [];
    const place = placeText(first.rules.placeOf(first.path));
    const message = `the counts of the live rule (${place}) start anew: ${limitsText(first.limits)} becomes ${limitsText(limits)}`;
    return [{ path, message }];
  });
}

function countingRules({
  model,
}: CheckedRules): readonly { name: string; limits: readonly RateLimitModel[]; path: FieldPath }[] {
  const below = (
    descriptors: readonly DescriptorModel[],
    parent: readonly string[],
    path: FieldPath,
  ): ReturnType<typeof countingRules> =>
    descriptors.flatMap((descriptor, index) => {
      const { rateLimits, descriptors: inner } = descriptor;
      const names = [...parent, compositeKey(descriptor)];
      const at = [...path, index];
      const limits = limitsOf(descriptor).filter(({ unlimited }) => !unlimited);
      const field = rateLimits === undefined ? "rateLimit" : "rateLimits";
      const own = limits.length === 0 ? [] : [{ name: JSON.stringify(names), limits, path: [...at, field] }];
      return [...own, ...below(inner, names, [...at, "descriptors"])];
    });
  return below(model.descriptors, [model.domain], ["descriptors"]);
}

/** Equal texts: counts go on. Numbers of requests, bursts and names change no counter. */
function countingOf(limits: readonly RateLimitModel[]): string {
  const each = limits.map(({ unit, unitMultiplier = 1, algorithm = DEFAULT_ALGORITHM, timeZone, monthDay = 1 }) => {
    const parsed = parseUnit(unit);
    const seconds = parsed === undefined ? 0 : UNIT_SECONDS[parsed] * unitMultiplier;
    return timeZone === undefined ? [algorithm, seconds] : [timeZone, seconds, monthDay];
  });
  return JSON.stringify([isPlainCount(limits), each]);
}

function limitsText(limits: readonly RateLimitModel[]): string {
  return limits.map(limitText).join("; ");
}
