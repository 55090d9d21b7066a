// `weir rollout` as a process against the control plane as a process: that both speak the same API.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { eventually } from "@weir/testing/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const NODE = ["--conditions=source"];
const START_TIMEOUT_MS = 60_000;

const MANIFEST =
  "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: NAME}\nspec: {domain: shop, descriptors: [{key: user, rateLimit: {unit: minute, requestsPerUnit: 5}}]}\n";

let folder: string;
let controlPlane: ChildProcess;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-rollout-"));
  writeFileSync(join(folder, "a.yaml"), MANIFEST.replace("NAME", "first"));
  const env = {
    SOURCE_DIRECTORY: folder,
    ADS_PLAINTEXT: "true",
    ADS_HOST: "127.0.0.1",
    ADS_PORT: "0",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: "0",
  };
  controlPlane = spawn(process.execPath, [...NODE, "control-plane/src/main.ts"], {
    cwd: ROOT,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [controlPlane.stdout, controlPlane.stderr])
    stream?.on("data", (chunk: Buffer) => (log += chunk.toString()));
  await eventually(
    "the control plane to serve",
    () => expect(log).toMatch(/status="http:\/\/127\.0\.0\.1:\d+/),
    START_TIMEOUT_MS,
  );
  url = /status="(http:\/\/127\.0\.0\.1:\d+)/.exec(log)?.[1] ?? "";
});

afterAll(async () => {
  const ended = once(controlPlane, "close");
  controlPlane.kill("SIGKILL");
  await ended;
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

  it("watches until it is interrupted", async () => {
    const watching = spawn(process.execPath, [...NODE, "cli/src/main.ts", "rollout", "--watch", "-s", url], {
      cwd: ROOT,
    });
    let output = "";
    watching.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = once(watching, "close");
    await eventually(
      "the first lines",
      () => expect(output).toContain("resource default/first served"),
      START_TIMEOUT_MS,
    );
    watching.kill("SIGINT");
    expect(await ended).toEqual([1, null]);
  });
});
