// Finds rules that need more than plain counts, for stores that may have nothing else.
import type { FieldPath } from "../model/field-path.ts";
import { endsStep } from "../model/in-one-go.ts";
import {
  compositeKey,
  type DescriptorModel,
  isPlainCount,
  limitsOf,
  type RateLimitConfigModel,
} from "../model/model.ts";
import type { ConfigSetProblem, SetOptions } from "./validate.ts";

/**
 * The first rule that a plain count does not decide, in steps: its place, and its path as the message; undefined when
 * there is none.
 */
export function* firstCellSteps(
  configs: readonly RateLimitConfigModel[],
  { changed }: Pick<SetOptions, "changed">,
): Generator<undefined, ConfigSetProblem | undefined> {
  for (const [config, { domain, descriptors }] of configs.entries()) {
    if (endsStep(config)) yield;
    if (changed?.has(domain) === false) continue;
    const found = yield* findRule(descriptors, { path: ["descriptors"], fullKey: domain });
    if (found !== undefined) return { config, path: found.path, message: found.fullKey };
  }
  return undefined;
}

interface Place {
  readonly path: FieldPath;
  /** Domain and composite keys, joined by dots. */
  readonly fullKey: string;
}

function* findRule(descriptors: readonly DescriptorModel[], parent: Place): Generator<undefined, Place | undefined> {
  for (const [index, descriptor] of descriptors.entries()) {
    const path = [...parent.path, index];
    const fullKey = `${parent.fullKey}.${compositeKey(descriptor)}`;
    if (!isPlainCount(limitsOf(descriptor)))
      return { path: [...path, descriptor.rateLimits === undefined ? "rateLimit" : "rateLimits"], fullKey };
    yield;
    const found = yield* findRule(descriptor.descriptors, { path: [...path, "descriptors"], fullKey });
    if (found !== undefined) return found;
  }
  return undefined;
}
