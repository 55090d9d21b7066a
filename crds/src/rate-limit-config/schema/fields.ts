// Fields that several parts of the resource share.
import * as z from "zod";

/**
 * A text of at most so many characters; JSON schema counts code points, not the halves of surrogate
 * pairs.
 */
export function text(charactersMax: number): z.ZodString {
  const isShort = (value: string): boolean =>
    value.length <= charactersMax || Array.from(value).length <= charactersMax;
  return z.string().refine(isShort, `must have at most ${charactersMax} characters`).meta({ maxLength: charactersMax });
}

/** A boolean that may be absent. */
export function flag(description: string): z.ZodOptional<z.ZodBoolean> {
  return z.boolean().optional().describe(description);
}

/**
 * A list that may be absent. `key` names the field by which the API server distinguishes its elements;
 * without one it replaces the list as a whole.
 */
export function list<Element extends z.ZodType>(
  element: Element,
  { max, description, key }: { readonly max: number; readonly description: string; readonly key?: string },
): z.ZodOptional<z.ZodArray<Element>> {
  const type = key === undefined ? "atomic" : "map";
  const keys = key === undefined ? {} : { "x-kubernetes-list-map-keys": [key] };
  return z
    .array(element)
    .max(max)
    .optional()
    .meta({ "x-kubernetes-list-type": type, ...keys, description });
}
