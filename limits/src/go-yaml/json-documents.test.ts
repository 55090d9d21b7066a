// Tests of reading YAML and JSON as kubectl does: values, places and problems.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";

import { readYamlDocuments, TEXT_MAX_BYTES } from "./json-documents.ts";

function valueOf(text: string): unknown {
  const [document, ...others] = readYamlDocuments(text);
  expect(others).toEqual([]);
  expect(document?.problems).toEqual([]);
  return document?.value;
}

function problemsOf(text: string): readonly string[] {
  return readYamlDocuments(text).flatMap(({ problems }) =>
    problems.map(({ line, column, message }) => `${line}:${column}: ${message}`),
  );
}

describe("readYamlDocuments() on values", () => {
  it.each([
    {
      when: "scalars are quoted",
      text: `- yes\n- 'yes'\n- "5"\n- 5\n- |-\n  on\n`,
      value: [true, "yes", "5", 5, "on"],
    },
    {
      when: "keys are not text",
      text: "{1: a, true: b, 1.5: c, no: d}",
      value: { 1: "a", true: "b", 1.5: "c", false: "d" },
    },
    {
      when: "tags decide",
      text: "[!!str 5, !!int '5', !!float 5, !!bool yes, !!null ~, !!binary aGk=, !foo 5, !!timestamp 2001-01-01]",
      value: ["5", 5, 5, true, null, "hi", "5", "2001-01-01"],
    },
    { when: "a value is missing", text: "a:\nb: ~\n", value: { a: null, b: null } },
    {
      when: "aliases repeat values",
      text: "a: &x {k: [1]}\nb: *x\nc: [*x]\nd: &s text\ne: *s\n",
      value: { a: { k: [1] }, b: { k: [1] }, c: [{ k: [1] }], d: "text", e: "text" },
    },
    { when: "an anchor is used again", text: "a: &x 1\nb: *x\nc: &x 2\nd: *x\n", value: { a: 1, b: 1, c: 2, d: 2 } },
    { when: "a merge comes first", text: "{<<: {x: 1, z: 2}, x: 3}", value: { x: 3, z: 2 } },
    { when: "a merge comes last", text: "{x: 3, <<: {x: 1, z: 2}}", value: { x: 1, z: 2 } },
    { when: "several are merged", text: "{<<: [{x: 1}, {x: 2, z: 3}]}", value: { x: 1, z: 3 } },
    { when: "a merge key is quoted", text: "{'<<': {x: 1}}", value: { "<<": { x: 1 } } },
    {
      when: "it is JSON with tabs",
      text: '{\n\t"a":\t[true, null, -1.5e2, "\\ud83d\\ude00\\/"]\n}\n',
      value: { a: [true, null, -150, "😀/"] },
    },
  ])("gives what kubectl gives when $when", ({ text, value }) => {
    expect(valueOf(text)).toEqual(value);
  });

  it("keeps a key called __proto__ a key", () => {
    const value = valueOf("{__proto__: {polluted: true}, a: 1}") as object;
    expect(Object.keys(value)).toEqual(["__proto__", "a"]);
    expect((value as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("reads back any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const json = JSON.stringify(value);
        expect(valueOf(json)).toEqual(JSON.parse(json));
      }),
      { numRuns: 100, seed: 50 },
    );
  });

  it("reads back what another writer of YAML 1.1 writes", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true }), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(valueOf(stringify(plain, { version: "1.1" }))).toEqual(plain);
      }),
      { numRuns: 100, seed: 51 },
    );
  });
});

describe("readYamlDocuments() on documents", () => {
  it("gives each with its start", () => {
    const text = "# first\na: 1\n---\n---\n# third\n\n- b\n...\n---\nc: 2\n";
    expect(readYamlDocuments(text).map(({ value, start }) => ({ value, start }))).toEqual([
      { value: { a: 1 }, start: { line: 2, column: 1 } },
      { value: null, start: { line: 3, column: 4 } },
      { value: ["b"], start: { line: 7, column: 1 } },
      { value: { c: 2 }, start: { line: 10, column: 1 } },
    ]);
  });

  it.each(["", "# only a comment\n"])("gives none, or one that is null, for %j", (text) => {
    expect(readYamlDocuments(text).filter(({ value }) => value !== null)).toEqual([]);
  });

  it("continues after an invalid document", () => {
    const [wrong, right] = readYamlDocuments("a: [1\n---\nb: 2\n");
    expect(wrong?.value).toBeUndefined();
    expect(right?.value).toEqual({ b: 2 });
  });
});

describe("readYamlDocuments() on places", () => {
  const text = "a:\n  - x: 1\n    w: {z: text}\n  - &n {k: v}\n  - *n\nm: {<<: *n}\n";
  const [document] = readYamlDocuments(text);

  it.each([
    { path: [], what: "value", place: "1:1" },
    { path: ["a"], what: "key", place: "1:1" },
    { path: ["a"], what: "value", place: "2:3" },
    { path: ["a", 0, "x"], what: "key", place: "2:5" },
    { path: ["a", 0, "x"], what: "value", place: "2:8" },
    { path: ["a", 0, "w", "z"], what: "value", place: "3:12" },
    { path: ["a", 0, "w", "missing"], what: "value", place: "3:5" }, // The key of what lacks it.
    { path: ["a", 0, "missing", "more"], what: "value", place: "2:5" },
    { path: ["a", 7], what: "value", place: "1:1" },
    { path: ["a", 2, "k"], what: "value", place: "4:12" }, // The place in the anchored map.
    { path: ["m", "k"], what: "value", place: "4:12" },
  ] as const)("finds the $what of $path at $place", ({ path, what, place }) => {
    const at = document?.locate(path, what);
    expect(`${String(at?.line)}:${String(at?.column)}`).toBe(place);
  });
});

describe("readYamlDocuments() on what kubectl accepts", () => {
  it.each([
    { what: "a pair of escapes in JSON", text: '{"a": "\\ud83d\\ude00"}', value: { a: "\u{1f600}" } },
    {
      what: "a whole character, escaped or not",
      text: 'a: ["\\U0001f600", "\u{1f600}"]',
      value: { a: ["\u{1f600}", "\u{1f600}"] },
    },
    {
      what: "backslashes before what looks like an escape",
      text: "a: [\"\u{1f600}\\\\ud83d\", '\u{1f600}\\ud83d']",
      value: { a: ["\u{1f600}\\ud83d", "\u{1f600}\\ud83d"] },
    },
    {
      what: "a percent sign elsewhere",
      text: "a: |\n  %YAML 1.1\nb: x\n  %TAG\n",
      value: { a: "%YAML 1.1\n", b: "x %TAG" },
    },
  ])("reads $what", ({ text, value }) => {
    expect(problemsOf(text)).toEqual([]);
    expect(valueOf(text)).toEqual(value);
  });

  it("passes over a directive behind the end of a document", () => {
    expect(
      readYamlDocuments("a: 1\n...\n%YAML 1.1\n---\nb: 1\n").map(({ value, problems }) => [value, problems]),
    ).toEqual([
      [{ a: 1 }, []],
      [{ b: 1 }, []],
    ]);
  });
});

describe("readYamlDocuments() on problems", () => {
  it.each([
    {
      when: "a list does not end",
      text: "a: [1\nb: 2\n",
      problem: "2:1: not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]",
    },
    {
      when: "a tab indents a list, which the parser takes for a part of the key",
      text: "a:\n  b:\n\t- c: 1\n",
      problem: "3:1: not valid YAML: tabs are not allowed as indentation",
    },
    { when: "a key is repeated", text: "a: 1\nb: 2\na: 3\n", problem: '3:1: duplicate key "a", first on line 1' },
    {
      when: "a key is repeated in another spelling",
      text: "{true: 1, yes: 2}",
      problem: '1:11: duplicate key "true", first on line 1',
    },
    { when: "a key is a list", text: "? [a]\n: 1\n", problem: "1:3: invalid map key: [a]" },
    { when: "a key is null", text: "~: 1\n", problem: "1:1: a key must be a text, a number or a boolean" },
    { when: "a number is infinite", text: "a: .inf\n", problem: "1:4: .inf is not a number that JSON can carry" },
    { when: "a tag does not fit", text: "a: !!int x\n", problem: "1:10: cannot decode !!str `x` as a !!int" },
    { when: "an alias has no anchor", text: "a: *x\n", problem: "1:4: unknown anchor 'x' referenced" },
    {
      when: "an alias comes before its anchor",
      text: "a: *x\nb: &x 1\n",
      problem: "1:4: unknown anchor 'x' referenced",
    },
    { when: "a value contains itself", text: "a: &x [*x]\n", problem: "1:8: anchor 'x' value contains itself" },
    {
      when: "it contains a control character",
      text: 'a: 1\nb: "\u0001"\n',
      problem: "2:5: not valid YAML: control characters are not allowed",
    },
    {
      when: "half a character is escaped",
      text: 'a: "\\ud800"\n',
      problem: "1:4: an escape from \\ud800 to \\udfff must be one of a pair",
    },
    {
      when: "a pair of halves is escaped, which is for JSON",
      text: 'a: "x\\ud83d\\ude00"\n',
      problem: "1:4: escapes from \\ud800 to \\udfff are for JSON: write the character itself, or \\U and eight digits",
    },
    {
      when: "aliases repeat a pair of halves",
      text: 'a: &x "\\ud83d\\ude00"\nb: [*x, *x]\n',
      problem: "1:7: escapes from \\ud800 to \\udfff are for JSON: write the character itself, or \\U and eight digits",
    },
    {
      when: "half a character is escaped in JSON",
      text: '{"a": "\\ud800"}\n',
      problem: "1:7: an escape from \\ud800 to \\udfff must be one of a pair",
    },
    {
      when: "a directive begins it",
      text: "%YAML 1.1\n---\na: 1\n",
      problem: "1:1: a directive (%) is not read, and kubectl refuses it: leave the line out",
    },
    {
      when: "a directive begins it after comments",
      text: "# c\n\n%TAG ! tag:example.org,2026:\n---\na: 1\n",
      problem: "3:1: a directive (%) is not read, and kubectl refuses it: leave the line out",
    },
    {
      when: "a directive has no document",
      text: "%YAML 1.1\na: 1\n",
      problem: "2:1: not valid YAML: missing directives-end/doc-start indicator line",
    },
    {
      when: "a directive comes after another document",
      text: "a: 1\n---\n%YAML 1.1\n---\nb: 1\n",
      problem: "3:1: not valid YAML: plain value cannot start with directive indicator character %",
    },
    {
      when: "a merge is no mapping",
      text: "<<: [1]\n",
      problem: "1:6: map merge requires map or sequence of maps as the value",
    },
  ])("names place and reason when $when", ({ text, problem }) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  it("refuses an alias bomb without unfolding it", () => {
    const levels = Array.from(
      { length: 30 },
      (_, level) => `l${level + 1}: &l${level + 1} [*l${level}, *l${level}, *l${level}, *l${level}]`,
    );
    expect(problemsOf(["l0: &l0 [x]", ...levels].join("\n"))).toEqual(["9:10: document contains excessive aliasing"]);
  });

  it("accepts a thousand rules that share a limit by alias", () => {
    const rules = Array.from({ length: 1000 }, (_, index) => `- {key: k, value: v${index}, rateLimit: *limit}`);
    const [document] = readYamlDocuments(
      ["- key: k", "  rateLimit: &limit {unit: day, requestsPerUnit: 1}", ...rules].join("\n"),
    );
    expect(document?.problems).toEqual([]);
    expect(document?.value).toHaveLength(1001);
  });

  it.each([
    { what: "lists", text: `a:\n  ${"[".repeat(257)}`, place: "2:258" },
    { what: "mappings", text: "{a: ".repeat(200_000), place: "1:1025" },
    { what: "thousands of lists of one dash each", text: "- ".repeat(200_000), place: "1:513" },
    { what: "lists of one dash each", text: "- ".repeat(257), place: "1:513" },
  ])("refuses $what that nest more than 256 levels deep", ({ text, place }) => {
    expect(problemsOf(text)).toEqual([`${place}: lists and mappings nest deeper than 256 levels`]);
  });

  it("does not take brackets in texts for nesting", () => {
    expect(valueOf(`- "${"[".repeat(200)}"\n- |\n  [\n- a${"{".repeat(200)}\n`)).toHaveLength(3);
  });

  const MANY_DOCUMENTS_MS = 30_000;
  it(
    "refuses more documents than it reads",
    () => {
      expect(problemsOf("---\na: 1\n".repeat(10_001))).toEqual(["20001:1: the text holds more than 10000 documents"]);
    },
    MANY_DOCUMENTS_MS,
  );

  it("refuses a text that is too large before parsing it", () => {
    expect(problemsOf(`a: ${"x".repeat(TEXT_MAX_BYTES)}`)).toEqual([
      "1:1: the text has 1048579 bytes, at most 1048576 are read",
    ]);
  });

  it("reports one syntax error of a document, not every token after it", () => {
    const [document] = readYamlDocuments('{"a": 1}\n{"b": [1, {"c": 2}]}\n');
    expect(document?.problems).toEqual([
      { line: 2, column: 1, message: "not valid YAML: unexpected flow-map-start at node end" },
    ]);
  });
});
