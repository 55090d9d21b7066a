// The alert rules of the charts before their judge: promtool.
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CHARTS } from "@weir/harness/helm/helm";

function promtool(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { encoding: "utf8" });
  return { status, output: `${error?.message ?? ""}${stdout}${stderr}` };
}

describe("the alert rules", () => {
  it.each(globSync("*/alerts/*.yaml", { cwd: CHARTS }))("of %s pass promtool's check", (path) => {
    const { status, output } = promtool("check", "rules", "--lint=all", "--lint-fatal", join(CHARTS, path));
    expect(status, output).toBe(0);
  });

  it("have the durations and thresholds of promtool's unit tests", () => {
    const { status, output } = promtool("test", "rules", join(import.meta.dirname, "alert-rules.yaml"));
    expect(status, output).toBe(0);
  });
});
