import { describe, expect, it } from "vitest";

import { entriesOf, formatNode, type YamlNode } from "./node.ts";
import { inOneGo } from "../model/in-one-go.ts";
import { parseYamlInSteps, type ParsedDocument } from "./parse.ts";

/** The tree as plain values, for comparing. */
function valueOf(node: YamlNode | undefined): unknown {
  switch (node?.kind) {
    case undefined:
      return undefined;
    case "map":
      return Object.fromEntries(Array.from(entriesOf(node), (entry) => [formatNode(entry.key), valueOf(entry.value)]));
    case "list":
      return node.elements.map(valueOf);
    case "scalar":
      return node.meaning.type === "null" ? null : node.meaning.value;
  }
}

function parse(text: string): ParsedDocument | undefined {
  return inOneGo(parseYamlInSteps(text, { documents: "first", aliasedNodesMax: 1000, isJson: false }))[0];
}

function errorOf(text: string): string {
  const [problem] = parse(text)?.problems ?? [];
  return problem === undefined ? "no error" : `line ${problem.line}: ${problem.message}`;
}

describe("parseYamlInSteps", () => {
  it.each([
    ["an empty text", "", undefined],
    ["only comments", "# nothing\n", undefined],
    ["a map", "a: x\nb: yes\nc:\n", { a: "x", b: true, c: null }],
    ["a flow map in a block list", "- {a: x}\n- [1, '1']\n", [{ a: "x" }, [1n, "1"]]],
    ["the last of equal keys", "a: x\nb: v\na: z\n", { a: "z", b: "v" }],
    ["the first of two documents", "a: x\n---\n{broken", { a: "x" }],
    ["a document after directives", "%YAML 1.1\n---\na: x\n...\nrest", { a: "x" }],
    ["an alias", "a: &x {b: v}\nc: *x\n", { a: { b: "v" }, c: { b: "v" } }],
    ["an anchor that is defined again", "a: &x 1\nb: *x\nc: &x 2\nd: *x\n", { a: 1n, b: 1n, c: 2n, d: 2n }],
    ["a merge key", "a: &x {b: v, c: z}\nd: {<<: *x, b: w}\n", { a: { b: "v", c: "z" }, d: { b: "w", c: "z" } }],
    ["a merge key behind what it overrides", "a: &x {b: v}\nd: {b: w, <<: *x}\n", { a: { b: "v" }, d: { b: "v" } }],
    [
      "a merge of a list, where the first wins",
      "a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne: {<<: [*x, *y]}\n",
      {
        a: { b: 1n },
        c: { b: 2n, d: 3n },
        e: { b: 1n, d: 3n },
      },
    ],
    ["a quoted merge key as a key like any other", "d: {'<<': x}\n", { d: { "<<": "x" } }],
    ["block scalars", "a: |\n  x\n  y\nb: >-\n  x\n  y\n", { a: "x\ny\n", b: "x y" }],
    ["a byte order mark at the start", "\ufeffa: x\n", { a: "x" }],
    ["a byte order mark in the middle", "a: x\ufeff\n", { a: "x\ufeff" }],
  ])("parseYamlInSteps() reads %s", (_what, text, expected) => {
    expect(valueOf(parse(text)?.root)).toEqual(expected);
  });

  it("parseYamlInSteps() returns the line and column of every node", () => {
    const root = parse("a: x\nb:\n  - c: y\n")?.root;
    expect(root).toMatchObject({
      at: { line: 1, column: 1 },
      parts: [
        { key: { at: { line: 1, column: 1 } }, value: { at: { line: 1, column: 4 } } },
        {
          value: {
            at: { line: 3, column: 3 },
            elements: [{ at: { line: 3, column: 5 }, parts: [{ value: { at: { line: 3, column: 8 } } }] }],
          },
        },
      ],
    });
  });

  it.each([
    ["an open quote", "a: 'x\nb: y\n", "line 3: found unexpected end of stream (missing closing 'quote)"],
    ["a quote of three at the end", "'''", "line 2: found unexpected end of stream (missing closing 'quote)"],
    ["a colon in a value", "a: b: c\n", "line 1: nested mappings are not allowed in compact mappings"],
    ["a tab for indentation", "a:\n\tb: c\n", "line 2: tabs are not allowed as indentation"],
    ["an open flow map", "{a: b\n", "line 2: flow map must end with a }"],
    ["an alias without an anchor", "a: *x\n", "line 1: unknown anchor 'x' referenced"],
    ["an anchor that contains itself", "a: &x [*x]\n", "line 1: anchor 'x' value contains itself"],
    ["a map as a key", "? {a: b}\n: c\n", "line 1: invalid map key: map[a:b]"],
    ["a merge of a text", "a: {<<: b}\n", "line 1: map merge requires map or sequence of maps as the value"],
    [
      "a merge of a list with a text",
      "a: {<<: [b]}\n",
      "line 1: map merge requires map or sequence of maps as the value",
    ],
    ["a tag that does not fit", "a: !!int b\n", "line 1: cannot decode !!str `b` as a !!int"],
    ["a control character", "a: x\nb: \u0007\n", "line 2: control characters are not allowed"],
    [
      "a merge of an alias to a list",
      "a: &x [{b: c}]\nd: {<<: *x}\n",
      "line 1: map merge requires map or sequence of maps as the value",
    ],
    [
      "a pair of escapes for one character",
      'a: "\\ud83d\\ude00"\n',
      "line 1: escapes from \\ud800 to \\udfff are for JSON: write the character itself, or \\U and eight digits",
    ],
    [
      "so many dashes that the parser gives up",
      "- ".repeat(50_000),
      "line 1: lists and mappings nest deeper than 256 levels",
    ],
    [
      "more levels than anybody needs",
      `${"[".repeat(300)}${"]".repeat(300)}`,
      "line 1: lists and mappings nest deeper than 256 levels",
    ],
    [
      "so many levels that the parser gives up",
      "[".repeat(50_000),
      "line 1: lists and mappings nest deeper than 256 levels",
    ],
  ])("parseYamlInSteps() refuses %s", (_what, text, expected) => {
    expect(errorOf(text)).toBe(expected);
  });

  it.each([
    { levels: 100, expected: "no error" },
    { levels: 101, expected: "line 5: lists and mappings nest deeper than 256 levels" },
  ])("parseYamlInSteps() counts the levels behind aliases: two of $levels more", ({ levels, expected }) => {
    const nested = (inner: string): string => `${"[".repeat(levels)}${inner}${"]".repeat(levels)}`;
    const text = `a: &a\n  ${nested("x")}\nb: &b\n  c: ${nested("*a")}\nd: ${"[".repeat(54)}*b${"]".repeat(54)}\n`;
    expect(errorOf(text)).toBe(expected);
  });

  it("parseYamlInSteps() refuses aliases that expand to more nodes than allowed", () => {
    const lines = Array.from(
      { length: 30 },
      (_, index) => `a${index}: &a${index} [${index === 0 ? "x, x" : `*a${index - 1}, *a${index - 1}`}]\n`,
    );
    expect(errorOf(lines.join(""))).toBe("line 8: document contains excessive aliasing");
  });
});
