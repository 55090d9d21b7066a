// Explains what is wrong with a resource: every message says what is allowed and what was found.
import { fieldPath, type FieldPath } from "@weir/limits/model/field-path";
import { cutText } from "@weir/common/text/cut-text";
import { editDistance } from "@weir/common/text/edit-distance";
import * as z from "zod";

/** Longest text that is quoted in a message. */
const QUOTE_MAX_BYTES = 63;

/** Most edits that a misspelt name may be away from the one that was meant. */
const EDITS_MAX = 2;

/** Longest name for which a similar one is looked for, in characters. */
const NAME_LENGTH_MAX = 64;

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a whole number", // Every number of the schema is one.
  int: "a whole number",
  boolean: "true or false",
  object: "a mapping",
  record: "a mapping",
  array: "a list",
};

const NULL_MESSAGE =
  "is null, which counts as absent, and which kubectl apply --server-side refuses: leave the field out";

/** One thing that is wrong in a resource. */
export interface ManifestProblem {
  /** From the root of the resource. */
  readonly path: FieldPath;
  readonly message: string;
  /** Set when the name of the field is wrong, not its content. */
  readonly about?: "name";
  /** The other rule of a duplicate; the message names it. */
  readonly first?: FieldPath;
}

/** The problems of a failed check of the schema, which must have been run with `reportInput`. */
export function problemsOfError({ issues }: z.core.$ZodError): readonly ManifestProblem[] {
  // A number beyond the exact ones is beyond the bound of its field, too, which says what is allowed.
  const others = new Set(issues.flatMap((issue) => (isInexact(issue) ? [] : [fieldPath(pathOf(issue))])));
  return issues
    .filter((issue) => !isInexact(issue) || !others.has(fieldPath(pathOf(issue))))
    .map((issue) => problemOfIssue(issue));
}

function isInexact(issue: z.core.$ZodIssue): boolean {
  return (
    (issue.code === "too_big" && issue.maximum === Number.MAX_SAFE_INTEGER) ||
    (issue.code === "too_small" && issue.minimum === Number.MIN_SAFE_INTEGER)
  );
}

function pathOf({ path }: z.core.$ZodIssue): FieldPath {
  return path.map((step) => (typeof step === "number" ? step : String(step)));
}

function problemOfIssue(issue: z.core.$ZodIssue): ManifestProblem {
  const isAboutName = issue.code === "custom" && issue.params?.["about"] === "name";
  return { path: pathOf(issue), message: messageOfIssue(issue), ...(isAboutName && { about: "name" }) };
}

/**
 * A copy of a value without the fields that its schema does not know, which are problems, and without
 * fields that are null, which the API server drops. `nulls` has those of them that `kubectl apply
 * --server-side` refuses: in `spec`, and without a default. `ends` has the messages for fields that
 * are unknown only because the schema ends.
 */
export function omitUnknown(
  value: unknown,
  schema: z.ZodType,
  ends: Readonly<Record<string, string>>,
): {
  readonly value: unknown;
  readonly problems: readonly ManifestProblem[];
  readonly nulls: readonly ManifestProblem[];
} {
  const problems: ManifestProblem[] = [];
  const nulls: ManifestProblem[] = [];
  const copy = (from: unknown, known: z.core.$ZodType, path: FieldPath): unknown => {
    if (known instanceof z.ZodOptional) return copy(from, known.unwrap(), path);
    if (known instanceof z.ZodArray && Array.isArray(from))
      return from.map((item, index) => copy(item, known.element, [...path, index]));
    if (!(known instanceof z.ZodObject) || !isMapping(from)) return from;
    const shape = known.shape as Readonly<Record<string, z.core.$ZodType>>;
    const entries: [string, unknown][] = [];
    for (const [key, inner] of Object.entries(from)) {
      const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
      if (field === undefined) {
        const message = ends[key] ?? unknownFieldMessage(key, Object.keys(shape));
        problems.push({ path: [...path, key], message, about: "name" });
      } else if (inner !== null) entries.push([key, copy(inner, field, [...path, key])]);
      else if ((path[0] ?? key) === "spec" && z.globalRegistry.get(field)?.["default"] === undefined)
        nulls.push({ path: [...path, key], message: NULL_MESSAGE });
    }
    return Object.fromEntries(entries);
  };
  return { value: copy(value, schema, []), problems, nulls };
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unknownFieldMessage(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  const hint = near === undefined ? `known are ${known.toSorted().join(", ")}` : `did you mean "${near}"?`;
  return `unknown field ${quote(name)}, ${hint}`;
}

/** The known name that was probably meant: equal but for case and separators, or few edits away. */
function nearestName(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[_-]/g, "");
  if (name.length > NAME_LENGTH_MAX) return undefined;
  const equal = known.find((candidate) => plain(candidate) === plain(name));
  if (equal !== undefined) return equal;
  const [nearest] = known
    .map((candidate) => ({ candidate, edits: editDistance(plain(name), plain(candidate)) }))
    .filter(({ candidate, edits }) => edits <= EDITS_MAX && edits < candidate.length / 2)
    .toSorted((left, right) => left.edits - right.edits);
  return nearest?.candidate;
}

function messageOfIssue(issue: z.core.$ZodIssue): string {
  const { input } = issue;
  switch (issue.code) {
    case "invalid_type":
      if (input === undefined) return "is required";
      return `must be ${EXPECTED[issue.expected] ?? issue.expected}, is ${describe(input)}${quotesHint(issue.expected, input)}`;
    case "invalid_value": {
      const allowed = issue.values.map((value) => JSON.stringify(value)).join(", ");
      const must = issue.values.length === 1 ? `must be ${allowed}` : `must be one of ${allowed}`;
      return input === undefined ? `is required: ${must}` : `${must}, is ${describe(input)}`;
    }
    case "too_small":
      if (issue.origin === "array" && issue.minimum !== 1) return `must have at least ${issue.minimum} items`;
      return issue.origin === "string" || issue.origin === "array"
        ? "must not be empty"
        : `must be at least ${issue.minimum}, is ${describe(input)}`;
    case "too_big":
      if (issue.origin === "array") return `must have at most ${issue.maximum} items`;
      return issue.origin === "string"
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}, is ${describe(input)}`;
    default:
      return input === undefined || typeof input === "object"
        ? issue.message
        : `${issue.message}, is ${describe(input)}`;
  }
}

/** Explains that YAML reads some texts without quotes as something else. */
function quotesHint(expected: string, input: unknown): string {
  if (expected === "string") return typeof input === "boolean" || typeof input === "number" ? ": put it in quotes" : "";
  const isQuotedNumber = expected === "number" && typeof input === "string" && /^[0-9]+$/.test(input);
  return isQuotedNumber ? ": leave out the quotes" : "";
}

function describe(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "number" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : "a mapping";
}

function quote(text: string): string {
  return JSON.stringify(cutText(text, QUOTE_MAX_BYTES));
}
