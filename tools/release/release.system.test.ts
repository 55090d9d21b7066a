// A release of one program, written twice; then used as a user does: unpacked, started, asked for decisions.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../run-command.ts";

/** A release is written in seconds; machines stand still for longer. */
const RELEASE_TIMEOUT_MS = 300_000;

const PARTS = ["charts", "bill-of-materials", "release-notes", "weir-ratelimit"] as const;
const RULES = "domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: hour, requests_per_unit: 1 }\n";

describe("make release", () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-release-test-"));
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

  beforeAll(async () => {
    await writeRelease(first);
    await writeRelease(second);
  }, 2 * RELEASE_TIMEOUT_MS);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("writes the same bytes again", () => {
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
    expect(sums).toContain(`  weir-ratelimit-${version}-linux-${process.arch}.tar.gz\n`);
    expect(readFileSync(join(second, "SHA256SUMS"), "utf8")).toBe(sums);
  });

  it("writes checksums of every file", async () => {
    const { code, output } = await runCommand(["sh", "-c", `cd ${first} && sha256sum --strict --check SHA256SUMS`]);
    expect(code, output).toBe(0);
    expect(output.match(/: OK$/gm)).toHaveLength(readdirSync(first).length - 1);
  });

  it("names every part that it knows when it is asked for another", async () => {
    const { code, output } = await runCommand(["node", "tools/release/release.ts", "--only", "wine"]);
    expect({ code, output }).toEqual({
      code: 2,
      output: expect.stringContaining("Cannot write wine: the parts of a release are charts") as string,
    });
  });

  it("writes programs that run without the repository", async () => {
    const root = join(folder, "unpacked");
    const rules = join(folder, "rules/config");
    for (const path of [root, rules]) mkdirSync(path, { recursive: true });
    writeFileSync(join(rules, "shop.yaml"), RULES);
    for (const name of readdirSync(first).filter((file) => file.endsWith("tar.gz"))) {
      const { code, output } = await runCommand(["tar", "--extract", "--file", join(first, name), "--directory", root]);
      expect(code, output).toBe(0);
    }
    const port = await freePort();
    const program = spawn(join(root, "usr/local/bin/weir-ratelimit"), {
      cwd: root,
      env: {
        ...{ PATH: "/usr/bin:/bin", PORT: String(port), GRPC_PORT: "0", DEBUG_PORT: "0", BACKEND_TYPE: "memory" },
        ...{ RUNTIME_ROOT: join(folder, "rules"), RUNTIME_SUBDIRECTORY: "", USE_STATSD: "false" },
        ...{ USE_PULLSTATS: "true", PULLSTATS_ADDR: "127.0.0.1:0" },
      },
      stdio: "ignore",
    });
    try {
      await untilHealthy(program, `http://127.0.0.1:${port}/healthcheck`);
      const statuses: number[] = [];
      for (let call = 0; call < 2; call += 1) statuses.push(await ask(port));
      expect(statuses).toEqual([200, 429]);
    } finally {
      program.kill();
      if (program.exitCode === null && program.signalCode === null) await once(program, "exit");
    }
  });
});

async function writeRelease(out: string): Promise<void> {
  const only = PARTS.flatMap((part) => ["--only", part]);
  const { code, output } = await runCommand(["node", "tools/release/release.ts", "--out", out, ...only]);
  expect(code, output).toBe(0);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function untilHealthy(program: ChildProcess, url: string): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (performance.now() < deadlineMs) {
    if (program.exitCode !== null) throw new Error(`The program ended with ${program.exitCode}`);
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.status === 200) return;
    await delay(50);
  }
  throw new Error(`${url} did not answer with 200`);
}

async function ask(port: number): Promise<number> {
  const body = JSON.stringify({ domain: "shop", descriptors: [{ entries: [{ key: "user", value: "ada" }] }] });
  const { status } = await fetch(`http://127.0.0.1:${port}/json`, { method: "POST", body });
  return status;
}
