// Says in words what a schema of a custom resource allows: type, default, constraints and an example. Pure.
import { stringify } from "yaml";
import { inlineCode } from "./generated-page.ts";

/** A field, or the whole of a resource, as crds/src/reference.ts gives it. */
export interface FieldSchema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly "x-pattern-words"?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly additionalProperties?: FieldSchema;
  readonly "x-kubernetes-validations"?: readonly FieldRule[];
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
}

/** A CEL rule. */
export interface FieldRule {
  readonly message: string;
  /** Path of the field that it is about, such as `.backend`; absent: the field that has the rule. */
  readonly fieldPath?: string;
}

/** Clauses of descriptions that say what counts when a field is absent. */
const DEFAULT_CLAUSES = [
  / ?\bAbsent: (?<value>.*?)\.(?= |$)/,
  /; (?<value>[^;.]*?) when absent(?<rest>[^.]*)\.(?= |$)/,
  /; absent: (?<value>.*?)\.(?= |$)/,
];

/** Values that a reader could write as they are. */
const PLAIN_VALUE = /^(\d\S*|true|false|[A-Z]\w+(-[A-Z]\w+)+)$/;

const PLURALS: Readonly<Record<string, string>> = { string: "strings", integer: "integers", object: "objects" };

/** The type in words, such as "list of strings". */
export function typeWords(schema: FieldSchema): string {
  const { type, format, items, additionalProperties } = schema;
  if (schema["x-kubernetes-int-or-string"] === true) return "quantity";
  if (items !== undefined) return `list of ${PLURALS[items.type ?? ""] ?? typeWords(items)}`;
  if (additionalProperties !== undefined)
    return `mapping to ${additionalProperties.type === "string" ? "strings" : "quantities"}`;
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) return "object of any fields";
  return format === "date-time" ? "time (RFC 3339)" : (type ?? "object");
}

/**
 * Returns the value that counts when a field is absent, and the description without that clause. A boolean that
 * says nothing else is false.
 */
export function splitDefault({ description = "", type, enum: allowed, ...schema }: FieldSchema): {
  readonly description: string;
  readonly default: string | undefined;
} {
  if (schema.default !== undefined) return { description, default: inlineCode(JSON.stringify(schema.default)) };
  for (const clause of DEFAULT_CLAUSES) {
    const { value = "", rest = "" } = clause.exec(description)?.groups ?? {};
    if (value === "") continue;
    const [begin = "", end = ""] = description.split(clause.exec(description)?.[0] ?? "");
    const isPlain = PLAIN_VALUE.test(value) || allowed?.includes(value) === true;
    return {
      description: `${begin}${clause === DEFAULT_CLAUSES[0] ? "" : "."}${end}`.trim(),
      default: `${isPlain ? inlineCode(value) : value}${rest}`,
    };
  }
  return { description, default: type === "boolean" ? inlineCode("false") : undefined };
}

/** The constraints that the API server checks, without the rules between fields. */
export function constraintWords(schema: FieldSchema): readonly string[] {
  const { items, additionalProperties, pattern, description = "" } = schema;
  if (schema["x-kubernetes-int-or-string"] === true)
    return [`${description.charAt(0).toLowerCase()}${description.slice(1).replace(/\.$/, "")}`];
  const patternWords = schema["x-pattern-words"]?.replace(/^must be /, "");
  const inner = items ?? additionalProperties;
  const each = inner === undefined || inner.properties !== undefined ? [] : constraintWords(inner);
  const mapKeys = schema["x-kubernetes-list-map-keys"];
  const words = [
    schema.enum && `one of ${schema.enum.map(inlineCode).join(", ")}`,
    range(schema.minimum, schema.maximum, ""),
    range(schema.minLength, schema.maxLength, "character"),
    patternWords ?? (pattern === undefined ? undefined : wordsOfPattern(pattern)),
    range(schema.minItems, schema.maxItems, "item"),
    range(undefined, schema.maxProperties, "entry", "entries"),
    mapKeys && `no two items with the same ${mapKeys.map(inlineCode).join(" and ")}`,
    schema["x-kubernetes-list-type"] === "set" ? "no item twice" : undefined,
    each.length === 0 ? undefined : `each: ${each.join(", ")}`,
  ];
  return words.filter((text) => text !== undefined);
}

/**
 * A value for a field: its own example, or one made of those of what is inside. Throws when there is none:
 * the page would have a hole.
 */
export function exampleOf(path: string, schema: FieldSchema): unknown {
  const { example, enum: allowed, type, items, properties } = schema;
  if (example !== undefined) return example;
  // The one that changes something.
  if (type === "boolean") return splitDefault(schema).default !== inlineCode("true");
  if (allowed !== undefined) return allowed[0];
  if (items !== undefined) return [exampleOf(`${path}[]`, items)];
  if (properties === undefined) throw new Error(`Cannot document ${path}: its schema has no example`);
  return Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, exampleOf(`${path}.${name}`, inner)]),
  );
}

/** A value as YAML in one line. */
export function inlineExample(value: unknown): string {
  return inlineCode(stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trim());
}

function wordsOfPattern(pattern: string): string {
  return pattern.includes("\\x00") ? "no control characters" : `the pattern ${inlineCode(pattern)}`;
}

function range(min: number | undefined, max: number | undefined, unit: string, units = `${unit}s`): string | undefined {
  const least = min === 0 && unit !== "" ? undefined : min;
  if (least === undefined && max === undefined) return undefined;
  const numbers =
    least === undefined
      ? `at most ${max?.toLocaleString("en")}`
      : max === undefined
        ? `at least ${least.toLocaleString("en")}`
        : `${least.toLocaleString("en")} to ${max.toLocaleString("en")}`;
  if (unit === "") return numbers;
  return `${numbers} ${(max ?? least) === 1 ? unit : units}`;
}
