// Mogrifiers: rules of the settings that rewrite a statistic name into another name and tags. The
// first that matches is used.
import { compileGoPattern, type Pattern } from "../go-pattern.ts";

/** One rule. */
export interface Mogrifier {
  /** Searched for anywhere in a name. */
  readonly pattern: Pattern;
  /** The new name; `$1` is the first group. */
  readonly name: string;
  /** Tags to add, with templates like that of the name. */
  readonly tags: readonly (readonly [key: string, template: string])[];
}

/** The texts of the three settings of a mogrifier; undefined when not set. */
export interface MogrifierTexts {
  readonly PATTERN: string | undefined;
  readonly NAME: string | undefined;
  readonly TAGS: string | undefined;
}

/**
 * Parses the mogrifier named `id`; undefined when a setting is invalid. `report` gets each problem in
 * the words of envoyproxy/ratelimit.
 */
export function parseMogrifier(
  id: string,
  { PATTERN, NAME, TAGS = "" }: MogrifierTexts,
  report: (setting: keyof MogrifierTexts, message: string) => void,
): Mogrifier | undefined {
  let isValid = true;
  const problem = (setting: keyof MogrifierTexts, message: string): void => {
    isValid = false;
    report(setting, message);
  };
  const compiled = PATTERN === undefined ? undefined : compileGoPattern(PATTERN);
  if (compiled === undefined) problem("PATTERN", `no PATTERN specified for mogrifier ${id}`);
  else if (!compiled.ok) problem("PATTERN", `failed to compile pattern for ${id}: ${PATTERN}: ${compiled.reason}`);
  if (NAME === undefined) problem("NAME", `no NAME specified for mogrifier ${id}`);
  const tags = parseTags(id, TAGS, (message) => problem("TAGS", message));
  return isValid && compiled?.ok === true && NAME !== undefined
    ? { pattern: compiled.pattern, name: NAME, tags }
    : undefined;
}

/** Rewrites a name with the first mogrifier that matches it, if any; tags are `key:value`. */
export function mogrify(
  mogrifiers: readonly Mogrifier[],
  name: string,
): { readonly name: string; readonly tags: readonly string[] } {
  for (const mogrifier of mogrifiers) {
    const match = mogrifier.pattern.exec(name);
    if (match === null) continue;
    return {
      name: fill(mogrifier.name, match),
      tags: mogrifier.tags.map(([key, template]) => `${key}:${fill(template, match)}`),
    };
  }
  return { name, tags: [] };
}

/** `key:template,key:template`; the last of equal keys is used. */
function parseTags(id: string, text: string, problem: (message: string) => void): Mogrifier["tags"] {
  const tags = new Map<string, string>();
  for (const item of text.trim() === "" ? [] : text.split(",")) {
    const quoted = JSON.stringify(item);
    const [key, template, ...more] = item.split(":").map((part) => part.trim());
    if (key === undefined || template === undefined || more.length > 0)
      problem(`invalid map item ${quoted} for mogrifier ${id}: a tag is key:value with exactly one colon`);
    else if (key === "") problem(`no key specified for tag ${quoted} for mogrifier ${id}`);
    else if (template === "") problem(`no value specified for tag ${quoted} for mogrifier ${id}`);
    else tags.set(key, template);
  }
  return Array.from(tags);
}

/** Fills a template with the groups of a match; a group that the pattern lacks is left as it is. */
function fill(template: string, match: RegExpMatchArray): string {
  return template.replaceAll(/\$(\d+)/g, (whole, digits: string) => {
    const index = Number(digits);
    return index < match.length ? (match[index] ?? "") : whole;
  });
}
