// The refusal of each lint rule that is this repository's own choice. Each text is linted in the
// place of an existing file, because the rules that know types need one that is part of the project.
import { ESLint } from "eslint";
import { beforeAll, expect, it } from "vitest";

const SOURCE = "tools/layout.ts";
const UNIT_TEST = "tools/gates/gates.test.ts";
const INTEGRATION_TEST = "tools/gates/lint-rules.system.test.ts";

/** Joined, so that the linter does not obey or report the examples below. */
const word = (...parts: readonly string[]): string => parts.join("");

const linter = new ESLint();

/** The rules of this list that `text` breaks as the content of `path`. */
async function brokenRules(path: string, text: string): Promise<readonly string[]> {
  const [result] = await linter.lintText(text, { filePath: path });
  return [...new Set(result?.messages.map(({ ruleId, message }) => ruleId ?? message))];
}

// The first text takes as long as the types of the whole repository do, which tests have no time for.
beforeAll(async () => {
  await brokenRules(SOURCE, "");
});

it.each<{ rule: string; path: string; text: string }>([
  {
    rule: "max-lines",
    path: SOURCE,
    text: "let a = 0;\n".padEnd(11).concat("a += 1;\n".repeat(300), "export { a };\n"),
  },
  {
    rule: "max-lines-per-function",
    path: SOURCE,
    text: `/** Adds. */\nexport function f(): number {\n  let a = 0;\n${"  a += 1;\n".repeat(70)}  return a;\n}\n`,
  },
  { rule: "jsdoc/require-jsdoc", path: SOURCE, text: "export function f(): void {\n  f();\n}\n" },
  { rule: "jsdoc/require-jsdoc", path: SOURCE, text: "export class C {\n  readonly a = 1;\n}\n" },
  {
    rule: "jsdoc/require-jsdoc",
    path: SOURCE,
    text: "// Not a doc comment.\nexport function f(): void {\n  f();\n}\n",
  },
  {
    rule: "comments/require-description",
    path: SOURCE,
    text: `/** Prints. */\nexport const a = (): void => {\n  // ${word("eslint-", "disable-next-line")} no-eval\n  eval("1");\n};\n`,
  },
  {
    rule: "@typescript-eslint/ban-ts-comment",
    path: SOURCE,
    text: `/** A number. */\n// ${word("@ts-", "ignore")} because it must\nexport const a = 1;\n`,
  },
  {
    rule: "@typescript-eslint/ban-ts-comment",
    path: SOURCE,
    text: `/** A number. */\n// ${word("@ts-", "expect-error")}\nexport const a: number = "";\n`,
  },
  {
    rule: "vitest/no-focused-tests",
    path: UNIT_TEST,
    text: 'import { expect, it } from "vitest";\nit.only("x", () => {\n  expect(1).toBe(1);\n});\n',
  },
  {
    rule: "vitest/no-disabled-tests",
    path: INTEGRATION_TEST,
    text: 'import { describe, expect, it } from "vitest";\ndescribe.skip("x", () => {\n  it("y", () => {\n    expect(1).toBe(1);\n  });\n});\n',
  },
  {
    rule: "no-restricted-syntax",
    path: INTEGRATION_TEST,
    text: 'import { expect, it } from "vitest";\nit.skipIf(process.argv.length > 9)("x", () => {\n  expect(1).toBe(1);\n});\n',
  },
  { rule: "weir/first-comment", path: SOURCE, text: "export const a = 1;\n" },
  { rule: "no-warning-comments", path: SOURCE, text: `// ${word("TO", "DO")}: finish this\n` },
  { rule: "no-restricted-syntax", path: UNIT_TEST, text: "export const now = Date.now();\n" },
  { rule: "no-restricted-syntax", path: UNIT_TEST, text: "export const now = new Date();\n" },
  { rule: "no-restricted-syntax", path: UNIT_TEST, text: "export const x = Math.random();\n" },
  {
    rule: "no-restricted-syntax",
    path: UNIT_TEST,
    text: 'import { setTimeout } from "node:timers/promises";\nawait setTimeout(1);\n',
  },
])("ESLint reports $rule in $path: $text", { timeout: 60_000 }, async ({ rule, path, text }) => {
  expect(await brokenRules(path, text)).toContain(rule);
});

it.each<{ allowed: string; path: string; text: string }>([
  {
    allowed: "types and constants without a doc comment",
    path: SOURCE,
    text: "// Adds.\nexport const a = 1;\nexport type T = number;\nexport interface S {\n  start(): void;\n}\n",
  },
  {
    allowed: "private functions without a doc comment",
    path: SOURCE,
    text: "// Adds.\nfunction one(): number {\n  return 1;\n}\nexport const a = one();\n",
  },
  {
    allowed: "the clock in a test with real servers",
    path: INTEGRATION_TEST,
    text: "export const now = Date.now();\n",
  },
  { allowed: "a fixed date", path: UNIT_TEST, text: 'export const now = new Date("2026-01-01T00:00:00Z");\n' },
  { allowed: "a long test", path: UNIT_TEST, text: `export let a = 0;\n${"a += 1;\n".repeat(400)}` },
])("ESLint accepts $allowed", { timeout: 60_000 }, async ({ path, text }) => {
  expect(await brokenRules(path, text)).toEqual([]);
});

it.each([
  { path: "limits/src/window-start.ts", isRejected: false },
  { path: "limits/src/windowStart.ts", isRejected: true },
  { path: "limits/src/utils.ts", isRejected: true },
  { path: "limits/src/rule-helpers.ts", isRejected: true },
  { path: "limits/src/index.test.ts", isRejected: true },
])("ESLint rejects the name of $path: $isRejected", async ({ path, isRejected }) => {
  const { rules } = (await linter.calculateConfigForFile(path)) as { rules: Record<string, unknown[]> };
  expect(JSON.stringify(rules["no-restricted-syntax"]).includes('"Program"')).toBe(isRejected);
});
