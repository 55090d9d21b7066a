// The refusal of each rule, and a clean file of each kind.
import { describe, expect, it } from "vitest";
import { findUntidiness } from "./check-tidy.ts";

/** Joined, so that the gate does not find its own examples. */
const word = (...parts: readonly string[]): string => parts.join("");

describe("findUntidiness()", () => {
  it("wants no first comment of a test when the file that it tests stands beside it", () => {
    const files = {
      "a.ts": "// A window.\n",
      "a.test.ts": "const a = 1;\n",
      "a.integration.test.ts": "const a = 1;\n",
    };
    expect(rulesOf(files)).toEqual([]);
  });

  it("finds nothing in clean files", () => {
    const files = {
      "rates/src/window-start.ts": "// Where a window starts.\nexport const a = 1;\n",
      "rates/bin/rates": "#!/bin/sh\n# Starts the service.\nexec rates\n",
      "docs/page.md": "Put it into `~/.cache`.\n",
      "rates/src/generated/x.ts": `/* ${word("eslint-", "disable")} */\n`,
    };
    expect(rulesOf(files)).toEqual([]);
  });

  it.each([
    { rule: "first-comment", path: "a.ts", text: "export const a = 1;\n" },
    { rule: "first-comment", path: "a.sh", text: "#!/bin/sh\nexit 0\n" },
    { rule: "first-comment", path: "a.test.ts", text: "const a = 1;\n" },
    { rule: "leftover", path: "a.md", text: `${word("TO", "DO")}: finish this\n` },
    { rule: "leftover", path: "a.sh", text: `# ${word("FIX", "ME")} later\n` },
    { rule: "this-machine", path: "a.md", text: "Packages come from packages.example.net today.\n" },
    { rule: "this-machine", path: "a.sh", text: "# Runs.\ncd /srv/ada/weir\n" },
    { rule: "large-file", path: "a.md", text: "a".repeat(512 * 1024 + 1) },
    { rule: "file-name", path: "a/windowStart.ts", text: "// Camel case.\n" },
    { rule: "file-name", path: "a/utils.ts", text: "// Anything.\n" },
    { rule: "file-name", path: "a/rule-helpers.ts", text: "// Anything.\n" },
    { rule: "file-name", path: "a/index.ts", text: "// A barrel.\n" },
  ])("reports $rule when $path is untidy", ({ rule, path, text }) => {
    expect(rulesOf({ [path]: text })).toEqual([rule]);
  });
});

function rulesOf(files: Readonly<Record<string, string>>): readonly string[] {
  return findUntidiness(new Map(Object.entries(files)), ["packages.example.net", "/srv/ada/"]).map(({ rule }) => rule);
}
