import { describe, expect, it } from "vitest";

import { fieldPath, ruleFilePath } from "./field-path.ts";

describe("fieldPath()", () => {
  it.each([
    { path: [], text: "" },
    { path: ["spec", "descriptors", 2, "rateLimit", "unit"], text: "spec.descriptors[2].rateLimit.unit" },
    { path: ["items", 0], text: "items[0]" },
    { path: ["metadata", "labels", "a.b/c", "x"], text: 'metadata.labels["a.b/c"].x' },
    { path: ["", 'say "hi"'], text: '[""]["say \\"hi\\""]' },
  ])("writes $path as $text", ({ path, text }) => {
    expect(fieldPath(path)).toBe(text);
  });
});

describe("ruleFilePath()", () => {
  it("writes names as rule files have them", () => {
    expect(ruleFilePath(["descriptors", 2, "rateLimit", "requestsPerUnit"])).toBe(
      "descriptors[2].rate_limit.requests_per_unit",
    );
  });
});
