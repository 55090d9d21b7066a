// `weir check` of what helm renders: the chart of this repository passes with each of its values for CI, and what
// the API server would refuse is found before it is asked.
import { globSync } from "node:fs";
import { basename, join } from "node:path";

import { CHARTS, helm } from "@weir/harness/helm/helm";
import { launcher } from "@weir/harness/processes/programs";
import { runToEnd } from "@weir/harness/processes/run-to-end";
import { describe, expect, it } from "vitest";

const CHART = join(CHARTS, "weir");

/** helm template … | weir check - */
async function checkRendered(flags: readonly string[]): Promise<{ code: number; stdout: string }> {
  const rendered = await helm(["template", "weir", CHART, "--namespace", "weir-system", ...flags]);
  expect(rendered).toMatchObject({ code: 0 });
  const { code, stdout } = await runToEnd(launcher("weir"), ["check", "-"], rendered.stdout);
  return { code, stdout };
}

describe("helm template | weir check -", () => {
  it("passes for docs/cli.md with the values of the chart, and counts what is skipped", async () => {
    const { code, stdout } = await checkRendered([]);
    expect(stdout).toMatch(
      /^1 file with 1 resource and 0 rule files, \d+ manifests of other kinds skipped: no problems\n$/,
    );
    expect(code).toBe(0);
  });

  it.each(globSync(join(CHART, "ci", "*.yaml")).map((path) => ({ path, name: basename(path) })))(
    "passes with $name",
    async ({ path }) => {
      const { code, stdout } = await checkRendered(["--values", path]);
      expect(stdout).toMatch(/manifests of other kinds skipped: no problems\n$/);
      expect(code).toBe(0);
    },
  );

  it.each([
    {
      flags: ["--set", "rateLimitService.spec.fleet=shop.edge"],
      problem: 'spec.fleet: the fleet "shop.edge" belongs to the namespace shop',
    },
    {
      flags: [
        "--set",
        "rateLimitService.spec.env[0].name=LOG_LEVL",
        "--set",
        "rateLimitService.spec.env[0].value=info",
      ],
      problem: "spec.env[0].name: unknown setting LOG_LEVL; the nearest known one is LOG_LEVEL",
    },
  ])("finds $problem", async ({ flags, problem }) => {
    const { code, stdout } = await checkRendered(flags);
    expect(stdout).toMatch(/^-:\d+:\d+: /);
    expect(stdout).toContain(`: ${problem}`);
    expect(code).toBe(1);
  });
});
