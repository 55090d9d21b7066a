// Fields that several parts of the resource share.
import * as z from "zod";

/** Texts without control characters. RE2, JavaScript and Python read it alike. */
const PRINTABLE = "^[^\\x00-\\x1f\\x7f-\\x9f]*$";

/**
 * A text of at most so many characters; JSON schema counts code points, not the halves of surrogate
 * pairs.
 */
export function text(charactersMax: number): z.ZodString {
  const isShort = (value: string): boolean =>
    value.length <= charactersMax || Array.from(value).length <= charactersMax;
  return z.string().refine(isShort, `must have at most ${charactersMax} characters`).meta({ maxLength: charactersMax });
}

/** A text without control characters, which no terminal shows. */
export function printableText(charactersMax: number): z.ZodString {
  return text(charactersMax)
    .refine((value) => controlCharacterIn(value) === undefined, {
      error: ({ input }) => `must not contain the control character ${controlCharacterIn(String(input)) ?? ""}`,
    })
    .meta({ maxLength: charactersMax, pattern: PRINTABLE });
}

/** A boolean that may be absent. */
export function flag(description: string): z.ZodOptional<z.ZodBoolean> {
  return z.boolean().optional().describe(description);
}

/**
 * A list that may be absent. `keys` are the fields by which the API server distinguishes its
 * elements; without any it replaces the list as a whole.
 */
export function list<Element extends z.ZodType>(
  element: Element,
  {
    min,
    max,
    keys,
    ...texts
  }: {
    readonly min?: number;
    readonly max: number;
    readonly description: string;
    readonly keys?: readonly string[];
    /** Absent: a list of the example of one element. */
    readonly example?: readonly unknown[];
  },
): z.ZodOptional<z.ZodArray<Element>> {
  const type =
    keys === undefined
      ? { "x-kubernetes-list-type": "atomic" }
      : { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys };
  const array = z.array(element).max(max);
  return (min === undefined ? array : array.min(min)).optional().meta({ ...type, ...texts });
}

/** The first control character of a text, such as U+0000. */
function controlCharacterIn(value: string): string | undefined {
  const [character] = /\p{Cc}/u.exec(value) ?? [];
  if (character === undefined) return undefined;
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}
