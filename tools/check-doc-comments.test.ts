// What needs a doc comment, and what counts as one.
import { describe, expect, it } from "vitest";
import { findMissingDocComments } from "./check-doc-comments.ts";

describe("findMissingDocComments()", () => {
  it.each([
    { kind: "constant", text: "export const a = 1;", name: "a" },
    { kind: "function", text: "export function f(): void {}", name: "f" },
    { kind: "class", text: "export class C {}", name: "C" },
    { kind: "interface", text: "export interface I { x: number }", name: "I" },
    { kind: "type", text: "export type T = number;", name: "T" },
    { kind: "name exported further down", text: "const later = 1;\nexport { later };", name: "later" },
    { kind: "line comment only", text: "// Not a doc comment.\nexport const a = 1;", name: "a" },
    { kind: "empty doc comment", text: "/** */\nexport const a = 1;", name: "a" },
  ])("reports an exported declaration when it is a $kind", ({ text, name }) => {
    const messages = findMissingDocComments(new Map([["a.ts", text]])).map(({ message }) => message);
    expect(messages).toEqual([`${name} is exported and needs a /** comment */ above it`]);
  });

  it("reports a method when the exported interface has a comment and the method has none", () => {
    const text =
      "/** Counts. */\nexport interface Counter {\n  /** Documented. */\n  one(): void;\n  two(): void;\n  size: number;\n}";
    expect(findMissingDocComments(new Map([["a.ts", text]]))).toEqual([
      {
        file: "a.ts",
        line: 5,
        rule: "doc-comment",
        message: "Counter.two() is part of an exported interface and needs a /** comment */ above it",
      },
    ]);
  });

  it("accepts a bare method when it is one that every part has", () => {
    const text = "/** A server. */\nexport interface Server {\n  start(): void;\n  stop(): void;\n}";
    expect(findMissingDocComments(new Map([["a.ts", text]]))).toEqual([]);
  });

  it("accepts what is documented, what is private, and files that tests or generators own", () => {
    const files = new Map([
      ["a.ts", "/** The first number. */\nexport const a = 1;\nconst b = 2;\ninterface Private { run(): void }"],
      ["a.test.ts", "export const a = 1;"],
      ["a.suite.ts", "export const a = 1;"],
      ["generated/a.ts", "export const a = 1;"],
    ]);
    expect(findMissingDocComments(files)).toEqual([]);
  });
});
