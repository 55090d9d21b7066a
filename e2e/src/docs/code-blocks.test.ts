// Tests of what is found in a page: blocks, their comments, and what is wrong with them.
import { describe, expect, it } from "vitest";
import { problemOfBlock } from "./block-problem.ts";
import { findCodeBlocks } from "@weir/harness/pages/code-blocks";

const RESOURCE = "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: { name: shop }";

const KNOWN = {
  fixtures: ["shell"],
  textOf: (path: string) => (path === "e2e/src/x.test.ts" ? '// Runs docs/page.md\nit("works", f);' : undefined),
};

function problemsOf(text: string): readonly (string | undefined)[] {
  return findCodeBlocks("docs/page.md", text).map((block) => problemOfBlock(block, KNOWN));
}

describe("findCodeBlocks()", () => {
  it("returns the blocks with their lines and the comments before them", () => {
    const text = [
      "# Page",
      "<!-- before: mkdir a -->",
      "<!-- run: shell, until http://127.0.0.1:1/ answers -->",
      "",
      "```console",
      "$ true",
      "```",
      "",
      "1. A step:",
      "",
      "   ```",
      "   make run",
      "     indented",
      "   ```",
    ].join("\n");
    expect(findCodeBlocks("docs/page.md", text)).toEqual([
      {
        page: "docs/page.md",
        line: 5,
        language: "console",
        text: "$ true",
        directives: [
          { kind: "before", command: "mkdir a" },
          { kind: "run", fixture: "shell", untilUrl: "http://127.0.0.1:1/" },
        ],
      },
      { page: "docs/page.md", line: 11, language: "", text: "make run\n  indented", directives: [] },
    ]);
  });

  it("gives the comment of the page to each block of its language without one of its own", () => {
    const text = [
      '<!-- all yaml blocks run by: a.ts, "all of them" -->\n\nText\n\n```yaml\na\n```',
      "<!-- not run: b -->\n```yaml\nb\n```",
      "```sh\nc\n```",
    ].join("\n\n");
    expect(findCodeBlocks("docs/page.md", text).map(({ directives }) => directives)).toEqual([
      [{ kind: "run-by", test: "a.ts", title: "all of them" }],
      [{ kind: "not-run", reason: "b" }],
      [],
    ]);
  });

  it("throws for a block without an end", () => {
    expect(() => findCodeBlocks("docs/page.md", "a\n```\nb\n")).toThrow("docs/page.md:2: the code block has no end");
  });
});

describe("problemOfBlock()", () => {
  it.each([
    { what: "a marked block", text: "<!-- not run: needs a cloud -->\n```\nrm -rf /\n```" },
    { what: "a block that is run", text: "<!-- run: shell -->\n```console\n$ true\n```" },
    { what: "a block that another test runs", text: '<!-- run by: e2e/src/x.test.ts, "works" -->\n```sh\ntrue\n```' },
    { what: "output", text: "```text\nno command\n```" },
    { what: "a rule file", text: "```yaml\ndomain: shop\ndescriptors: [{ key: user }]\n```" },
    {
      what: "a valid resource",
      text: `\`\`\`yaml\n${RESOURCE}\nspec: { domain: shop, descriptors: [{ key: user }] }\n\`\`\``,
    },
  ])("accepts $what", ({ text }) => {
    expect(problemsOf(text)).toEqual([undefined]);
  });

  it.each([
    { text: "```\nmake\n```", problem: "docs/page.md:1: is neither run by a test nor marked with the reason" },
    {
      text: "```yaml\nkind: List\n```",
      problem: "docs/page.md:1: is neither run by a test nor marked with the reason",
    },
    {
      text: "<!-- run: cloud -->\n```\nmake\n```",
      problem: 'docs/page.md:2: names the unknown fixture "cloud", known are shell',
    },
    {
      text: "<!-- run by: e2e/src/y.test.ts -->\n```\nmake\n```",
      problem: "docs/page.md:2: names e2e/src/y.test.ts, which does not exist",
    },
    {
      text: "<!-- run by: e2e/src/x.test.ts -->\n```\nmake\n```",
      problem: "docs/page.md:2: names no test of e2e/src/x.test.ts",
    },
    {
      text: '<!-- run by: e2e/src/x.test.ts, "fails" -->\n```\nmake\n```',
      problem: 'docs/page.md:2: names the test "fails", which e2e/src/x.test.ts does not have',
    },
    {
      text: "<!-- run: shell -->\n<!-- not run: slow -->\n```\nmake\n```",
      problem: "docs/page.md:3: has more than one of the comments run, run by, not run",
    },
    {
      text: "<!-- run: shell -->\n```yaml\ndomain: shop\n```",
      problem: "docs/page.md:2: cannot be run: it has no commands",
    },
    {
      text: `\`\`\`yaml\n${RESOURCE}\nspec: {}\n\`\`\``,
      problem: "docs/page.md:1: spec.domain: is required",
    },
  ])("says $problem", ({ text, problem }) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  it("names a test that does not mention the page", () => {
    const [block] = findCodeBlocks("docs/other.md", "<!-- run by: e2e/src/x.test.ts -->\n```\nmake\n```");
    expect(problemOfBlock(block!, KNOWN)).toBe(
      "docs/other.md:2: names e2e/src/x.test.ts, which does not mention docs/other.md",
    );
  });
});
