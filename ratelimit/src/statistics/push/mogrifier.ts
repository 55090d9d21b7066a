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

/** A problem with one of its settings, in the words of envoyproxy/ratelimit. */
export interface MogrifierProblem {
  readonly setting: keyof MogrifierTexts;
  readonly message: string;
}

/** A mogrifier, or all problems with it. */
export type MogrifierResult =
  | { readonly ok: true; readonly mogrifier: Mogrifier }
  | { readonly ok: false; readonly problems: readonly MogrifierProblem[] };

/** Parses the mogrifier named `id`. */
export function parseMogrifier(id: string, texts: MogrifierTexts): MogrifierResult {
  const problems: MogrifierProblem[] = [];
  const problem = (setting: keyof MogrifierTexts, message: string): void => void problems.push({ setting, message });
  let pattern: Pattern | undefined;
  if (texts.PATTERN === undefined) {
    problem("PATTERN", `no PATTERN specified for mogrifier ${id}`);
  } else {
    const compiled = compileGoPattern(texts.PATTERN);
    if (compiled.ok) pattern = compiled.pattern;
    else problem("PATTERN", `failed to compile pattern for ${id}: ${texts.PATTERN}: ${compiled.reason}`);
  }
  if (texts.NAME === undefined) problem("NAME", `no NAME specified for mogrifier ${id}`);
  const tags = parseTags(id, texts.TAGS ?? "", (message) => problem("TAGS", message));
  if (pattern === undefined || texts.NAME === undefined || problems.length > 0) return { ok: false, problems };
  return { ok: true, mogrifier: { pattern, name: texts.NAME, tags } };
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
    const parts = item.split(":").map((part) => part.trim());
    const [key, template] = parts;
    if (parts.length !== 2 || key === undefined || template === undefined) {
      problem(
        `invalid map item ${JSON.stringify(item)} for mogrifier ${id}: a tag is key:value with exactly one colon`,
      );
    } else if (key === "") {
      problem(`no key specified for tag ${JSON.stringify(item)} for mogrifier ${id}`);
    } else if (template === "") {
      problem(`no value specified for tag ${JSON.stringify(item)} for mogrifier ${id}`);
    } else {
      tags.set(key, template);
    }
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
