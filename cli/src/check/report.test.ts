// Tests of how the result of a check is printed.
import { describe, expect, it } from "vitest";

import { formatJson, formatText } from "./report.ts";

const CLEAN = { files: 1, resources: 1, ruleFiles: 0, skipped: 0, problems: [], warnings: [] };

describe("formatText()", () => {
  it("sums up when nothing is wrong", () => {
    expect(formatText(CLEAN)).toBe("1 file with 1 resource and 0 rule files: no problems\n");
  });

  it("prints one line for each problem, with what is known of its place", () => {
    const problems = [
      { path: "a.yaml", line: 3, column: 5, field: "spec.domain", message: "is required" },
      { path: "b.yaml", line: 1, column: 1, field: "", message: "not valid YAML" },
      { path: "c", line: 0, column: 0, field: "", message: "cannot read: permission denied" },
    ];
    expect(formatText({ ...CLEAN, files: 3, resources: 0, ruleFiles: 1, problems })).toBe(
      [
        "a.yaml:3:5: spec.domain: is required",
        "b.yaml:1:1: not valid YAML",
        "c: cannot read: permission denied",
        "3 files with 0 resources and 1 rule file: 3 problems",
        "",
      ].join("\n"),
    );
  });

  it("lets no name from a file break the line or reach the terminal", () => {
    const problem = { path: "a\u001b[2J.yaml", line: 1, column: 1, field: "f", message: "one\n  two\u202e" };
    expect(formatText({ ...CLEAN, problems: [problem] }).split("\n")[0]).toBe(
      "a\\u001b[2J.yaml:1:1: f: one two\\u202e",
    );
  });
});

describe("formatJson()", () => {
  it("says whether all is well", () => {
    expect(JSON.parse(formatJson(CLEAN))).toEqual({
      ok: true,
      files: 1,
      resources: 1,
      ruleFiles: 0,
      skipped: 0,
      problems: [],
      warnings: [],
    });
  });

  it("carries both places of a conflict", () => {
    const also = { path: "a.yaml", line: 1, column: 9 };
    const problem = { path: "b.yaml", line: 2, column: 3, field: "spec.domain", message: "duplicate", also };
    expect(JSON.parse(formatJson({ ...CLEAN, problems: [problem] }))).toMatchObject({ ok: false, problems: [problem] });
  });
});
