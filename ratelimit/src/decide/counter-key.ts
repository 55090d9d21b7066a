// The key of a counter. Its text is shared with other pods on the same store, so it follows the field to the letter: nothing is escaped, the unit and
// the limit are not in it.
import type { Entry } from "../rules/rule-set.ts";

/**
 * `<prefix><domain>_<key>_<value>_…_<window start>`. A value is the request's, save where `sharedValues` has a text for it. `scope` is the prefix,
 * the domain and an underscore.
 */
export function counterKey(
  scope: string,
  entries: readonly Entry[],
  sharedValues: readonly string[] | undefined,
  windowStartSeconds: number,
): string {
  let key = scope;
  if (sharedValues === undefined) {
    for (const entry of entries) key += entry.key + "_" + entry.value + "_";
    return key + windowStartSeconds;
  }
  entries.forEach(({ key: name, value }, index) => {
    const shared = sharedValues[index] ?? "";
    key += `${name}_${shared === "" ? value : shared}_`;
  });
  return key + windowStartSeconds;
}
