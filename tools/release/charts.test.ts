// The files of a chart's package.
import { describe, expect, it } from "vitest";
import { isIgnored } from "./charts.ts";

const HELMIGNORE = "# Not for users\n.git\n*.tmp\nci/\n/docs/internal\ntests/*.yaml\n";

describe("isIgnored()", () => {
  it.each([
    { path: "values.yaml", ignored: false },
    { path: "templates/ci.yaml", ignored: false },
    { path: "templates/old.tmp", ignored: true },
    { path: "ci/all.yaml", ignored: true },
    { path: "ci", ignored: false }, // A file of that name; the pattern is for folders.
    { path: "docs/internal/notes.md", ignored: true },
    { path: "docs/readme.md", ignored: false },
    { path: "tests/a.yaml", ignored: true },
  ])("is $ignored for $path", ({ path, ignored }) => {
    expect(isIgnored(path, HELMIGNORE)).toBe(ignored);
  });
});
