// `weir rollout` as a process against the control plane as a process: that both speak the same API.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import { ROOT, startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const NODE = ["--conditions=source"];
const START_TIMEOUT_MS = 60_000;

const MANIFEST =
  "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: NAME}\nspec: {domain: shop, descriptors: [{key: user, rateLimit: {unit: minute, requestsPerUnit: 5}}]}\n";

let folder: string;
const running: Program[] = [];
let url: string;

/** Starts a control plane; returns the URL of its HTTP port. */
async function start(more: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = {
    ...more,
    SOURCE_DIRECTORY: folder,
    ADS_PLAINTEXT: "true",
    ADS_HOST: "127.0.0.1",
    ADS_PORT: "0",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: "0",
    CONSOLE_PORT: "0",
  };
  const controlPlane = startSource("control-plane/src/main.ts", env);
  running.push(controlPlane);
  return (await controlPlane.find(/(?:status|probes)="(http:\/\/127\.0\.0\.1:\d+)/))[1]!;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-rollout-"));
  writeFileSync(join(folder, "a.yaml"), MANIFEST.replace("NAME", "first"));
  url = await start();
});

afterAll(async () => {
  for (const controlPlane of running) await controlPlane.end();
  rmSync(folder, { recursive: true });
});

function rollout(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const ended = spawnSync(process.execPath, [...NODE, "cli/src/main.ts", "rollout", "-s", url, ...args], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

describe("weir rollout and the control plane", () => {
  it("shows what is served, and what is refused with the reason, and ends with 0 and 1", async () => {
    await eventually(
      "the first resource",
      () => expect(rollout()).toMatchObject({ code: 0, stderr: "" }),
      START_TIMEOUT_MS,
    );
    expect(rollout().stdout).toMatch(/^default\/first {3}shop +served +0\/0 +-$/m);
    writeFileSync(join(folder, "b.yaml"), MANIFEST.replace("NAME", "second"));
    await eventually(
      "the second resource",
      () => expect(rollout().stdout).toContain("default/second"),
      START_TIMEOUT_MS,
    );
    const { code, stdout } = rollout();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^default\/second {3}shop +refused +0\/0 +DomainConflict$/m);
    expect(JSON.parse(rollout("-o", "json", "default/second").stdout)).toMatchObject({
      ok: false,
      resources: [{ name: "second", state: "refused", reason: "DomainConflict" }],
    });
  });

  it("names the setting when the control plane serves no reports", async () => {
    const silent = await start({ HTTP_REPORTS: "false" });
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...NODE, "cli/src/main.ts", "rollout", "-s", silent],
      { cwd: ROOT, encoding: "utf8" },
    );
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: "",
      stderr: `weir rollout: ${silent} refuses: reports are not served on this port, because HTTP_REPORTS=false\n`,
    });
  });

  it("waits for a pod of a fleet that a resource names", () => {
    writeFileSync(
      join(folder, "c.yaml"),
      MANIFEST.replace("NAME", "third").replace("{domain: shop", "{fleets: [cor], domain: third"),
    );
    const { code, stdout } = rollout("--wait", "--timeout", "5", "third");
    expect(code).toBe(1);
    expect(stdout).toContain("no pod of fleet cor is connected (no pod is connected at all)\n");
    expect(rollout("--wait", "--allow-no-pods", "third").code).toBe(0);
  });

  it("watches until it is interrupted", async () => {
    const watching = startSource("cli/src/main.ts", {}, ["rollout", "--watch", "-s", url]);
    await watching.find(/resource default\/first served/);
    expect(await watching.end("SIGINT")).toBe(1);
  });
});
