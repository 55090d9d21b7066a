// The version that all parts share.
import { describe, expect, it } from "vitest";
import { findVersionProblems } from "./check-versions.ts";

describe("findVersionProblems()", () => {
  it("names each file that states another version", () => {
    const stated = [
      { file: "limits/package.json", field: "version", version: "1.2.3" },
      { file: "charts/weir/Chart.yaml", field: "version", version: "1.2.3" },
      { file: "charts/weir/Chart.yaml", field: "appVersion", version: "1.2.2" },
    ];
    expect(findVersionProblems("1.2.3", stated)).toEqual([
      { file: "charts/weir/Chart.yaml", rule: "version", message: "appVersion is 1.2.2, and package.json says 1.2.3" },
    ]);
  });
});
