// Within one call, a rule whose name is in the `replaces` of another matched rule is not evaluated.
import type { Rule, RuleMatch } from "../rules/rule.ts";
import { type Check, NO_RULE } from "./check.ts";

/** The names that these matches replace, each with the index of the first match that does. */
export function replacedNames(matches: readonly (RuleMatch<unknown> | undefined)[]): ReadonlyMap<string, number> {
  const names = new Map<string, number>();
  matches.forEach((match, index) => {
    for (const name of match?.rule.replaces ?? []) if (name !== "") names.getOrInsert(name, index);
  });
  return names;
}

/**
 * The index under which `replacedNames` has the name of this rule, or of one of its limits; undefined when nothing
 * replaces it. An unlimited rule stays unlimited even when its name is replaced.
 */
export function replacingIndex(
  { unlimited, limit, cell }: Rule,
  names: ReadonlyMap<string, number>,
): number | undefined {
  if (unlimited) return undefined;
  const replaced = (cell?.limits.map((each) => each.limit) ?? [limit]).filter(({ name }) => names.has(name));
  return replaced[0] && names.get(replaced[0].name);
}

/**
 * Takes replaced rules out of the checks, in place. `matches` are the matches of all descriptors,
 * unlimited and replaced ones included: these replace others too.
 */
export function dropReplaced(checks: Check[], matches: readonly RuleMatch<unknown>[]): void {
  const names = replacedNames(matches);
  checks.forEach((check, index) => {
    if (check.kind === "limited" && replacingIndex(check.match.rule, names) !== undefined) checks[index] = NO_RULE;
  });
}
