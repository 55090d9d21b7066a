// Reads parts of parsed JSON and YAML, of which nothing is known before.

/** A mapping with text keys. */
export type Mapping = Readonly<Record<string, unknown>>;

/** The value if it is a mapping; a list is none. */
export function mappingOf(value: unknown): Mapping | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Mapping) : undefined;
}

/** The fields of a mapping; none if the value is no mapping. */
export function fieldsOf(value: unknown): Mapping {
  return mappingOf(value) ?? {};
}

/** The items of a list that are mappings; none if the value is no list. */
export function mappingsOf(value: unknown): readonly Mapping[] {
  return Array.isArray(value) ? value.map(mappingOf).filter((item) => item !== undefined) : [];
}

/** The value if it is a text with at least one character: kubectl writes "" for a missing value. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
