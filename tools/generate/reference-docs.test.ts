// The reference of the custom resources: what a page says of a schema.
import { describe, expect, it } from "vitest";
import { type DocumentedKind, formatKind, pageName } from "./reference-docs.ts";
import {
  constraintWords,
  exampleOf,
  type FieldSchema,
  inlineExample,
  splitDefault,
  typeWords,
} from "./schema-words.ts";

const text = (description: string, more: FieldSchema = {}): FieldSchema => ({
  type: "string",
  description,
  example: "a",
  ...more,
});

describe("typeWords()", () => {
  it.each<{ schema: FieldSchema; words: string }>([
    { schema: { type: "integer" }, words: "integer" },
    { schema: { type: "string", format: "date-time" }, words: "time (RFC 3339)" },
    { schema: { type: "array", items: { type: "object" } }, words: "list of objects" },
    { schema: { type: "object", additionalProperties: { type: "string" } }, words: "mapping to strings" },
    {
      schema: { type: "object", additionalProperties: { "x-kubernetes-int-or-string": true } },
      words: "mapping to quantities",
    },
    { schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true }, words: "object of any fields" },
  ])("says $words", ({ schema, words }) => {
    expect(typeWords(schema)).toBe(words);
  });
});

describe("splitDefault()", () => {
  it.each<{ schema: FieldSchema; description: string; standard: string | undefined }>([
    { schema: text("Name."), description: "Name.", standard: undefined },
    { schema: text("Fewest; 2 when absent, or less."), description: "Fewest.", standard: "`2`, or less" },
    { schema: text("Wait; 10s when absent. A number."), description: "Wait. A number.", standard: "`10s`" },
    { schema: text("Image. Absent: the operator's own."), description: "Image.", standard: "the operator's own" },
    { schema: text("Fleet. Absent: NAMESPACE.NAME. More."), description: "Fleet. More.", standard: "NAMESPACE.NAME" },
    { schema: text("Effect; absent: all."), description: "Effect.", standard: "all" },
    { schema: text("P; tcp when absent.", { enum: ["tcp", "udp"] }), description: "P.", standard: "`tcp`" },
    { schema: text("Value.", { default: "" }), description: "Value.", standard: '`""`' },
    { schema: { type: "boolean", description: "Count." }, description: "Count.", standard: "`false`" },
  ])("of $schema.description is $standard", ({ schema, description, standard }) => {
    expect(splitDefault(schema)).toEqual({ description, default: standard });
  });
});

describe("constraintWords()", () => {
  it.each<{ schema: FieldSchema; words: readonly string[] }>([
    { schema: { minimum: 1, maximum: 65_535 }, words: ["1 to 65,535"] },
    { schema: { minimum: 0 }, words: ["at least 0"] },
    { schema: { minLength: 1, maxLength: 253 }, words: ["1 to 253 characters"] },
    { schema: { enum: ["a", "b"] }, words: ["one of `a`, `b`"] },
    { schema: { pattern: "^a$", "x-pattern-words": "must be an a" }, words: ["an a"] },
    { schema: { pattern: "^a$", "x-pattern-words": "must not be b" }, words: ["must not be b"] },
    { schema: { pattern: "^a$" }, words: ["the pattern `^a$`"] },
    {
      schema: { items: { type: "string", maxLength: 9 }, maxItems: 1, "x-kubernetes-list-type": "set" },
      words: ["at most 1 item", "no item twice", "each: at most 9 characters"],
    },
    {
      schema: { "x-kubernetes-list-map-keys": ["key", "value"] },
      words: ["no two items with the same `key` and `value`"],
    },
    { schema: { maxProperties: 64 }, words: ["at most 64 entries"] },
  ])("gives $words", ({ schema, words }) => {
    expect(constraintWords(schema)).toEqual(words);
  });
});

describe("exampleOf()", () => {
  it("is made of what is inside, and changes a boolean", () => {
    const schema: FieldSchema = {
      properties: {
        on: { type: "boolean", description: "On; true when absent." },
        mode: { enum: ["x", "y"] },
        names: { items: { type: "string", example: "n" } },
      },
    };
    expect(exampleOf("spec", schema)).toEqual({ on: false, mode: "x", names: ["n"] });
    expect(inlineExample({ a: ["b"] })).toBe("`{ a: [ b ] }`");
  });

  it("throws for a field without one", () => {
    expect(() => exampleOf("spec", { properties: { a: { type: "string" } } })).toThrow(
      "Cannot document spec.a: its schema has no example",
    );
  });
});

/** Rules below rules, a small object, and a larger one. */
function kind(): DocumentedKind {
  const rule = (inner?: FieldSchema): FieldSchema => ({
    type: "array",
    description: "Rules.",
    items: {
      type: "object",
      description: "A rule.",
      example: { key: "k" },
      properties: {
        key: text("Key."),
        value: text("Value."),
        shadow: { type: "boolean", description: "Shadow." },
        ...(inner && { rules: inner }),
      },
    },
  });
  const secret: FieldSchema = { type: "object", description: "Secret.", properties: { name: text("Name.") } };
  const spec: FieldSchema = {
    type: "object",
    description: "All.",
    required: ["fleet"],
    example: { fleet: "edge" },
    properties: { fleet: text("Fleet."), secret, rules: rule(rule()) },
    "x-kubernetes-validations": [
      { message: "fleet cannot be changed", fieldPath: ".fleet" },
      { message: "either secret or rules" },
    ],
  };
  return {
    ...{ kind: "RateLimitThing", plural: "ratelimitthings", shortName: "rlt", description: "A thing.", columns: [] },
    schema: { properties: { apiVersion: text("V."), spec } },
  };
}

describe("formatKind()", () => {
  const page = formatKind(kind(), { intro: "See elsewhere." });
  const rows = page.split("\n").filter((line) => line.startsWith("| <a"));

  it("has a section for the spec and for each object with more than a few fields", () => {
    expect(page.match(/^#+ .*/gm)).toEqual(["# RateLimitThing", "## `spec`", "### `spec.rules[]`"]);
    expect(page).toContain("Rules:\n\n- either secret or rules\n\n```yaml\nspec:\n  fleet: edge\n```");
    expect(page).toContain("```yaml\nspec:\n  rules:\n    - key: k\n```");
  });

  it("has a row with an anchor for every field, in the table of its section", () => {
    expect(rows.map((row) => /id="([^"]*)"/.exec(row)?.[1])).toEqual([
      "spec",
      ...["spec.fleet", "spec.secret", "spec.secret.name", "spec.rules"],
      ...["spec.rules[].key", "spec.rules[].value", "spec.rules[].shadow", "spec.rules[].rules"],
    ]);
    expect(rows[1]).toBe(
      '| <a id="spec.fleet"></a>[`fleet`](#spec.fleet) | string | **required** | Fleet.<br>_Rule:_ fleet cannot be changed<br>_Example:_ `a` |',
    );
    expect(rows[3]).toContain("[`secret.name`](#spec.secret.name)");
    expect(rows[4]).toContain("[`rules`](#specrules)");
  });

  it("leads from rules below rules back to the rules", () => {
    expect(rows[8]).toBe(
      '| <a id="spec.rules[].rules"></a>[`rules`](#specrules) | list of objects | not set | Rules.<br>The fields are those of `spec.rules[]`. |',
    );
  });

  it("says where the fields are that another page has", () => {
    const other = formatKind(kind(), { intro: "", elsewhere: { spec: "See [there](there.md)." } });
    expect(other).toContain("All.<br>See [there](there.md). |");
    expect(other).not.toContain("## `spec`");
  });
});

describe("pageName()", () => {
  it("is the kind with hyphens", () => {
    expect(pageName("RateLimitConfigRevision")).toBe("rate-limit-config-revision.md");
  });
});
