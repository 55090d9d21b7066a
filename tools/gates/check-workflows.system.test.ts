// The gate for workflows: what actionlint rejects, and a machine that cannot build it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runCommand } from "../run-command.ts";

const GATE = [process.execPath, "tools/gates/check-workflows.ts"];

describe("the gate for workflows", () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-workflows-"));

  afterAll(() => rmSync(folder, { recursive: true }));

  it("rejects an event that GitHub does not know", async () => {
    const path = join(folder, "ci.yml");
    const job = "jobs:\n  test:\n    runs-on: ubuntu-24.04\n    steps: [{ run: make test }]\n";
    writeFileSync(path, `on: pushed\n${job}`);
    expect(await runCommand([...GATE, path])).toMatchObject({
      code: 1,
      output: expect.stringContaining('unknown Webhook event "pushed"') as string,
    });
    writeFileSync(path, `on: push\n${job}`);
    expect(await runCommand([...GATE, path])).toMatchObject({ code: 0, output: "" });
  });

  it("fails, and names what it needs, on a machine without actionlint, Go and Python", async () => {
    const env = { XDG_CACHE_HOME: folder, PATH: dirname(process.execPath) };
    const { code, output } = await runCommand(GATE, { env });
    expect(code).toBe(1);
    expect(output).toContain("actionlint, which this gate builds once with Go 1.21 or newer from the PATH");
    expect(output).toContain("Cannot start python3");
  });
});
