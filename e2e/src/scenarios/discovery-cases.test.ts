// docs/discovery.md lists the numbered cases of the discovery server with the tests that show them:
// here both are held together.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "@weir/harness/processes/programs";

/** "case A7", "cases 3 and A12", "cases 1, 2 and 3". */
const CASES = /\bcases? (A?\d+(?:(?:, | and )A?\d+)*)/g;

/** A row of the table: the number, what it says, links to tests. */
const ROW = /^\| (A?\d+) +\| .* \| (.*) \|$/gm;

/**
 * Each case with each file whose tests name it, such as "A7
 * control-plane/src/main.system.test.ts".
 */
function named(): readonly string[] {
  const found = new Set<string>();
  for (const file of globSync("control-plane/src/**/*.test.ts", { cwd: ROOT })) {
    for (const [, list = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(CASES)) {
      for (const number of list.split(/, | and /)) found.add(`${number} ${file}`);
    }
  }
  return [...found].toSorted();
}

function listed(): readonly string[] {
  const rows = [...readFileSync(join(ROOT, "docs/discovery.md"), "utf8").matchAll(ROW)];
  return rows
    .flatMap(([, number = "", links = ""]) =>
      [...links.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, file = ""]) => `${number} ${file}`),
    )
    .toSorted();
}

describe("docs/discovery.md", () => {
  it("lists every case that a test of the control plane names, with that test, and no other", () => {
    expect(named().length).toBeGreaterThan(40);
    expect(listed()).toEqual(named());
  });

  it("links to files that there are", () => {
    const links = [...readFileSync(join(ROOT, "docs/discovery.md"), "utf8").matchAll(/\]\((\.\.\/)?([^)#:]+)[^)]*\)/g)];
    expect(links.filter(([, up, path = ""]) => !existsSync(join(ROOT, up === undefined ? "docs" : "", path)))).toEqual(
      [],
    );
  });
});
