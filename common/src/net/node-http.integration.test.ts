// The memory of a process that listens for HTTP: what it must not load.
import { join } from "node:path";

import { ROOT, runCommand } from "@weir/harness/processes/programs";
import { expect, it } from "vitest";

it("a process with an HTTP listener does not load the HTTP client of Node", async () => {
  const listener = join(ROOT, "common/src/net/http-listener.ts");
  const script = `await import("${listener}"); console.log(process.moduleLoadList.join("\\n"));`;
  const { stdout } = await runCommand(`node --conditions=source --input-type=module -e '${script}'`, { cwd: ROOT });
  expect(stdout).toMatch(/^NativeModule http$/m);
  expect(stdout).not.toContain("undici");
});
