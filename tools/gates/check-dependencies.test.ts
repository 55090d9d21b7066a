// The refusal of each rule about the page of reasons: every case changes a page that agrees.
import { describe, expect, it } from "vitest";
import { findReasonProblems } from "./check-dependencies.ts";

const PAGE = ["vitest", "zod", "@types/busboy"].map((name) => `| \`${name}\` | what | who | why |`).join("\n");

describe("findReasonProblems()", () => {
  it("finds nothing when every package has a row", () => {
    expect(findWith(PAGE)).toEqual([]);
  });

  it.each([
    {
      page: `${PAGE}\n| \`left-pad\` | what | who | why |`,
      problem: "docs/dependencies.md:4: left-pad is in no package.json: remove the row",
    },
    {
      page: PAGE.replace("| `zod` | what |", "| `zod` | |"),
      problem: "docs/dependencies.md:2: The row of zod has an empty cell",
    },
    {
      page: PAGE.replace("`zod`", "zod"),
      problem: "docs/dependencies.md: zod has no row: say what it does, who keeps it, and why not our own",
    },
  ])("reports $problem", ({ page, problem }) => {
    expect(findWith(page)).toEqual([problem]);
  });
});

function findWith(page: string): readonly string[] {
  const files = {
    "package.json": '{ "devDependencies": { "vitest": "1" } }',
    "rates/package.json":
      '{ "dependencies": { "@weir/shared": "*", "zod": "1" }, "devDependencies": { "@types/busboy": "1" } }',
    "docs/dependencies.md": page,
  };
  return findReasonProblems(new Map(Object.entries(files))).map(
    ({ file, line, message }) => `${file}${line === undefined ? "" : `:${line}`}: ${message}`,
  );
}
