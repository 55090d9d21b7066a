// The names and the attachments of the limits of a rule: of several limits each has its own.
import type { Attach, Rule, RuleMatch } from "./rule.ts";

/** The path of each limit: that of the rule, or with the limit's name if there are several. */
export function limitPaths(path: string, limits: readonly { readonly name: string }[]): readonly string[] {
  return limits.length > 1 ? limits.map(({ name }) => `${path}.${name}`) : limits.map(() => path);
}

/** The name of each of several limits, by which their counters differ; undefined for one. */
export function limitNames(limits: readonly { readonly name: string }[]): readonly (string | undefined)[] {
  return limits.map(({ name }) => (limits.length > 1 ? name : undefined));
}

/** The paths of the limits of a rule, under which `Attach` made something for each. */
export function pathsOf(rule: Rule): readonly string[] {
  return limitPaths(rule.path, limitsOf(rule));
}

/** Makes the attachments of the limits of a rule, for a statistics key with values of a request. */
export function attachDynamic<Attachment>(
  rule: Rule,
  statisticsKey: string,
  attach: Attach<Attachment>,
): readonly Attachment[] {
  const limits = limitsOf(rule);
  const [paths, names] = [limitPaths(rule.path, limits), limitNames(limits)];
  return limitPaths(statisticsKey, limits).map((key, index) =>
    attach.dynamic(key, paths[index] ?? rule.path, names[index]),
  );
}

/** A match with its attachments, one for each limit of the rule. */
export function matchOf<Attachment>(
  match: Omit<RuleMatch<Attachment>, "attachment" | "attachments">,
  attachments: readonly Attachment[],
): RuleMatch<Attachment> {
  const [attachment] = attachments;
  if (attachment === undefined) throw new Error(`The rule ${match.rule.path} has no limit`);
  const { rule, statisticsKey, sharedValues, metadata } = match;
  // Always the same fields in the same order: what every decision reads has one form.
  return {
    rule,
    statisticsKey,
    attachment,
    attachments: attachments.length > 1 ? attachments : undefined,
    sharedValues,
    metadata,
  };
}

function limitsOf({ limit, cell }: Rule): readonly { readonly name: string }[] {
  return cell?.limits.map((each) => each.limit) ?? [limit];
}
