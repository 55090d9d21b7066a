// `make bench` of one row, as short as it can be: that it measures says that servers, load generator
// and report fit together.
import { describe, expect, it } from "vitest";
import { ROOT, runCommand } from "@weir/harness/processes/programs";

/** Longest time, in milliseconds: the load generator may have to be compiled. */
const TIMEOUT_MS = 120_000;

describe("make bench", () => {
  it(
    "measures Weir, envoyproxy/ratelimit and the ceiling over the local cache, and prints what was reached",
    async () => {
      const program = "node_modules/.bin/node e2e/dist/benchmarks/decisions/run.js";
      const env = process.env;
      const { code, stdout, stderr } = await runCommand(`${program} --quick --only over-limit`, { cwd: ROOT, env });
      expect(stderr).toContain("round 1 of 1: over-limit/8x64/nothing");
      expect(code).toBe(0);
      expect(stdout).toMatch(/^over-limit, envoyproxy\/ratelimit: .*\bGOMAXPROCS=1\b/m);
      for (const server of ["Weir", "envoyproxy/ratelimit", "nothing (ceiling)"])
        expect(stdout).toMatch(new RegExp(`\\| ${server.replaceAll(/[()]/g, "\\$&")} +\\| +\\d+\\.\\d k`));
      expect(stdout).toMatch(
        /^\| Over the limit, local cache, 8 × 64 +\| ≥ 15 × envoyproxy\/ratelimit \| .* (PASS|MISS)/m,
      );
    },
    TIMEOUT_MS,
  );
});
