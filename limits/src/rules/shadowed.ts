// Finds rules that no request can reach, because other rules of their level take all of theirs. Pure.
//
// Of the rules that match an entry the exact one wins, then the first pattern in configured order, then
// the rule of the key alone. A pattern that matches a text with a character that no rule contains
// matches whatever is in the place of that character, so one such text decides for all texts.
import type { FieldPath } from "../model/field-path.ts";
import { compositeKey, type DescriptorModel } from "../model/model.ts";
import type { Entry } from "./rule.ts";
import { compileWildcard, matchesWildcard, SEPARATOR, type Wildcard } from "./wildcard.ts";

/** The characters one of which is free in a level: more than rules contain of them. */
const FREE_FIRST = 0xe000;
const FREE_LAST = 0xf8ff;

/**
 * Most work, as patterns times characters of the rules of their level; 10 ns each at worst. Levels
 * beyond it are not looked at: what is found is advice, and must not keep a process from its work.
 */
const WORK_MAX = 20_000_000;

/** A rule that no request can reach, nor the rules below it. */
export interface ShadowedRule {
  /** From the configuration, such as `["descriptors", 2]`. */
  readonly path: FieldPath;
  /** The rule of the same level that takes its requests; the first of several. */
  readonly by: FieldPath;
}

/** A pattern of a level. */
interface Pattern {
  readonly index: number;
  readonly wildcard: Wildcard;
}

/**
 * The rules of a valid configuration that no request can reach, in its order. Of a configuration with
 * thousands of long patterns only the first levels are looked at.
 */
export function findShadowedRules(descriptors: readonly DescriptorModel[]): readonly ShadowedRule[] {
  return shadowedBelow(descriptors, ["descriptors"], { left: WORK_MAX });
}

function shadowedBelow(
  descriptors: readonly DescriptorModel[],
  path: FieldPath,
  work: { left: number },
): readonly ShadowedRule[] {
  const patterns = descriptors.flatMap(({ key, value }, index): readonly Pattern[] => {
    const wildcard = compileWildcard(key, value);
    return wildcard === undefined ? [] : [{ index, wildcard }];
  });
  // Only patterns take requests from others.
  const cost = patterns.length * descriptors.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  const isLooked = cost > 0 && cost <= work.left;
  if (isLooked) work.left -= cost;
  const free = isLooked ? freeCharacter(descriptors) : "";
  return descriptors.flatMap((descriptor, index) => {
    const by = isLooked ? shadowOf(descriptor, index, patterns, free) : undefined;
    if (by !== undefined) return [{ path: [...path, index], by: [...path, by] }];
    return shadowedBelow(descriptor.descriptors, [...path, index, "descriptors"], work);
  });
}

/** The position of the rule that takes the first of its requests; undefined when it gets some. */
function shadowOf(
  descriptor: DescriptorModel,
  index: number,
  patterns: readonly Pattern[],
  free: string,
): number | undefined {
  const isPattern = compileWildcard(descriptor.key, descriptor.value) !== undefined;
  const composite = compositeKey(descriptor);
  // It matches a key and a value exactly, before every pattern.
  if (!isPattern && composite.includes(SEPARATOR)) return undefined;
  const rivals = isPattern ? patterns.filter((pattern) => pattern.index < index) : patterns;
  const entries = isPattern ? entriesOf(composite, free) : [{ key: composite, value: free }];
  const takers = entries.map(
    ({ key, value }) => rivals.find(({ wildcard }) => matchesWildcard(wildcard, key, value))?.index,
  );
  return takers.includes(undefined) ? undefined : takers[0];
}

/**
 * Entries that a pattern matches, one for each place of the separator: in its text, or else in what one
 * of its `*` matches.
 */
function entriesOf(composite: string, free: string): readonly Entry[] {
  const pieces = composite.split("*");
  const texts = composite.includes(SEPARATOR)
    ? [pieces.join(free)]
    : pieces.slice(1).map((_, star) => {
        const [before, after] = [pieces.slice(0, star + 1), pieces.slice(star + 1)];
        return [before.join(free), after.join(free)].join(free + SEPARATOR + free);
      });
  return texts.map((text) => {
    const at = text.indexOf(SEPARATOR);
    return { key: text.slice(0, at), value: text.slice(at + 1) };
  });
}

function freeCharacter(descriptors: readonly DescriptorModel[]): string {
  const used = descriptors.map(compositeKey).join("");
  for (let code = FREE_FIRST; code <= FREE_LAST; code++) {
    const character = String.fromCharCode(code);
    if (!used.includes(character)) return character;
  }
  throw new RangeError(`Cannot find shadowed rules: a level uses every character from ${FREE_FIRST} to ${FREE_LAST}`);
}
