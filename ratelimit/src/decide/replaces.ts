// Within one call, a rule whose name stands in the `replaces` of another matched rule is not
// evaluated.
import type { RuleMatch } from "../rules/rule-set.ts";
import { type Check, NO_RULE } from "./check.ts";

/**
 * Takes replaced rules out of the checks, in place. `matches` are the matches of all descriptors,
 * unlimited and replaced ones included: what they replace counts all the same. An unlimited rule
 * stays unlimited even when its name is replaced.
 */
export function dropReplaced(checks: Check[], matches: readonly RuleMatch[]): void {
  const replaced = new Set<string>();
  for (const match of matches) for (const name of match.rule.replaces) replaced.add(name);
  checks.forEach((check, index) => {
    if (check.kind !== "limited") return;
    const { name } = check.match.rule.limit;
    if (name !== "" && replaced.has(name)) checks[index] = NO_RULE;
  });
}
