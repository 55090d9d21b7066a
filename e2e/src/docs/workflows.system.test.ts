// The workflows of .github, read by actionlint as GitHub reads them.
import { globSync } from "node:fs";
import { findTool } from "@weir/harness/processes/tools";
import { expect, it } from "vitest";
import { ROOT, runCommand } from "@weir/harness/processes/programs";

/** The version that tools/test/test-setup.ts installs. */
const ACTIONLINT_VERSION = "1.7.12";

it("workflows have no key, expression, event or action input that GitHub does not know", async () => {
  expect(globSync(".github/workflows/*.yml", { cwd: ROOT })).not.toEqual([]);
  const program = findTool(`actionlint-${ACTIONLINT_VERSION}`, "actionlint");
  // Without programs that may not be there: their findings would depend on the machine.
  const { code, stdout } = await runCommand(`${program} -shellcheck= -pyflakes=`, { cwd: ROOT });
  expect(code, stdout).toBe(0);
});
