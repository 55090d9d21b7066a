// The default output of a log: standard error of a real process, complete even when the process
// ends immediately.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

const LOG_FILE = fileURLToPath(new URL("./log.ts", import.meta.url));

describe("createLog() in a real process", () => {
  it("createLog() has written every line to standard error when the process exits right after", () => {
    const script = `
      import { createLog } from ${JSON.stringify(LOG_FILE)};
      const log = createLog({ level: "info", format: "text" });
      for (let line = 1; line <= 1000; line++) log.info("m", { line });
      process.exit(0);
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module-typescript", "--eval", script], {
      encoding: "utf8",
    });
    const lines = stderr.trimEnd().split("\n");
    expect(stdout).toBe("");
    expect(lines).toHaveLength(1000);
    expect(lines[999]).toMatch(/^time="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z" level=info msg="m" line=1000$/);
  });
});
