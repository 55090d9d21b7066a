// Finds what is valid in rules and perhaps not meant. Pure.
import type { FieldPath } from "../model/field-path.ts";
import { type DescriptorModel, limitsOf, type RateLimitConfigModel } from "../model/model.ts";
import { findShadowedRules } from "../rules/shadowed.ts";
import { deceptiveCharacters } from "./deceptive-characters.ts";

/** One thing that is perhaps not meant. */
export interface RuleWarning {
  /** From the configuration, such as `["descriptors", 2]`. */
  readonly path: FieldPath;
  readonly message: string;
}

/** The warnings of a configuration that the validator found nothing in; `textOf` writes a path. */
export function findRuleWarnings(
  { domain, descriptors }: Pick<RateLimitConfigModel, "domain" | "descriptors">,
  textOf: (path: FieldPath) => string,
): readonly RuleWarning[] {
  const shadowed = findShadowedRules(descriptors).map(({ path, by }) => ({
    path,
    message: `no request reaches this rule: ${textOf(by)} takes all that it matches`,
  }));
  return [
    ...shadowed,
    ...zeroLimits(descriptors, ["descriptors"]),
    ...inText(["domain"], domain),
    ...inDescriptors(descriptors, ["descriptors"]),
  ];
}

function zeroLimits(descriptors: readonly DescriptorModel[], path: FieldPath): readonly RuleWarning[] {
  return descriptors.flatMap((descriptor, index) => {
    const { rateLimits, shadowMode, descriptors: below } = descriptor;
    const zeros = limitsOf(descriptor)
      .map((limit, position) => ({ limit, at: rateLimits === undefined ? ["rateLimit"] : ["rateLimits", position] }))
      .filter(({ limit }) => !shadowMode && !limit.unlimited && limit.requestsPerUnit === 0);
    const message = "the limit is 0: every request that meets this rule is rejected";
    return [
      ...zeros.map(({ at }) => ({ path: [...path, index, ...at, "requestsPerUnit"], message })),
      ...zeroLimits(below, [...path, index, "descriptors"]),
    ];
  });
}

function inDescriptors(descriptors: readonly DescriptorModel[], path: FieldPath): readonly RuleWarning[] {
  return descriptors.flatMap(({ key, value, descriptors: below }, index) => [
    ...inText([...path, index, "key"], key),
    ...inText([...path, index, "value"], value),
    ...inDescriptors(below, [...path, index, "descriptors"]),
  ]);
}

function inText(path: FieldPath, text: string): readonly RuleWarning[] {
  return deceptiveCharacters(text).map((message) => ({ path, message }));
}
