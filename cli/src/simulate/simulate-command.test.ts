// Tests what `weir simulate` prints of rule files, and what it refuses.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { runSimulate } from "./simulate-command.ts";

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 100}
`;

const SEVERAL = `${RULES}  - key: route
    value: search
    shadow_mode: true
    rate_limit: {unit: second, requests_per_unit: 3, name: search}
  - key: plan
    rate_limit: {unlimited: true}
`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-simulate-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Plays the rules, which are in rules.yaml. */
async function run(rules: string, ...args: readonly string[]) {
  const path = join(folder, "rules.yaml");
  writeFileSync(path, rules);
  const [out, err]: string[][] = [[], []];
  const context = { stdout: (text: string) => void out?.push(text), stderr: (text: string) => void err?.push(text) };
  const code = await runSimulate(context, ["-f", path, "--rate", "20/s", ...args]);
  const plain = (texts: readonly string[] = []): string => texts.join("").replaceAll(path, "rules.yaml");
  return { code, stdout: plain(out), stderr: plain(err) };
}

describe("runSimulate()", () => {
  it("prints the limit, the requests, a line for each part, and the most in a window", async () => {
    const args = ["--burst", "100", "--for", "2s", "--at", "2026-01-01T00:00:59Z"];
    expect(await run(RULES, ...args)).toEqual({
      code: 0,
      stderr: "",
      stdout: `domain    shop (rules.yaml:1:9)
rule      shop.user (rules.yaml:3:5)
limit     100 per minute
requests  20 per second for 2s from 2026-01-01T00:00:59Z, and 100 at the start

TIME       PASSED   REJECTED
0s to 1s   100      20
1s to 2s   20       0
total      120      20
most in any 1m: 120
`,
    });
  });

  it("prints the rule that a descriptor matches, and says that shadow mode lets all pass", async () => {
    const { code, stdout } = await run(SEVERAL, "-d", "route=search", "--for=1s", "--hits=2");
    expect(code).toBe(0);
    expect(stdout).toBe(`domain    shop (rules.yaml:1:9)
rule      shop.route_search (rules.yaml:5:5)
limit     3 per second, named search
flag      shadow mode: all of them pass in a pod, which only counts those that are rejected here
requests  20 per second for 1s from 2026-01-01T00:00:00Z, of 2 hits each

TIME       PASSED   REJECTED
0s to 1s   1        19
total      1        19
most in any 1s (search): 2 hits
`);
  });

  it("prints everything as JSON", async () => {
    const { code, stdout } = await run(RULES, "-o=json", "--for=500ms");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      domain: "shop",
      rule: "shop.user",
      place: { path: "rules.yaml", line: 3, column: 5 },
      shadowMode: false,
      limits: [{ name: "", requestsPerUnit: 100, unit: "minute", windowMs: 60_000, mostHits: 10 }],
      requests: {
        start: "2026-01-01T00:00:00.000Z",
        durationMs: 500,
        burst: 0,
        rate: { count: 20, unit: "second" },
        hits: 1,
      },
      passed: 10,
      rejected: 0,
      parts: [{ fromMs: 0, toMs: 500, passed: 10, rejected: 0 }],
    });
  });

  it.each([
    {
      rules: SEVERAL,
      args: [],
      message: "3 rules have a limit, choose one with --descriptor: shop.user, shop.route_search, shop.plan",
    },
    {
      rules: SEVERAL,
      args: ["-d", "route=cart"],
      message: 'no limit of the domain "shop" matches the descriptor: weir explain says why',
    },
    {
      rules: SEVERAL,
      args: ["-d", "plan=free"],
      message: "the rule shop.plan is unlimited: every request passes",
    },
    {
      rules: "domain: shop\ndescriptors: [{key: user}]\n",
      args: [],
      message: 'no rule of the domain "shop" has a limit',
    },
    { rules: RULES, args: ["--domain=web"], message: 'no rules for the domain "web": there is "shop"' },
    { rules: RULES, args: ["--burst", "x"], message: '--burst must be a whole number from 0 to 10000000, is "x"' },
  ])("ends with 2 for $args", async ({ rules, args, message }) => {
    expect(await run(rules, ...args)).toEqual({
      code: 2,
      stdout: "",
      stderr: `weir simulate: ${message}; run 'weir simulate --help' for usage\n`,
    });
  });

  it("ends with 1 when the files have problems", async () => {
    const { code, stdout, stderr } = await run(RULES.replace("minute", "fortnight"));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      "rules.yaml:4:24: descriptors[0].rate_limit.unit: invalid rate limit unit 'fortnight'\nweir simulate: the files have problems, so that no pod would take them\n",
    );
  });
});
