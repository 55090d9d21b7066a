// Tests of CONSOLE_PORT: reports for clients on this machine and no other, whatever HTTP_REPORTS
// says.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog } from "@weir/common/log/log";
import { loopbackHosts } from "@weir/common/settings/listen-hosts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { parseSettings, type Settings } from "./settings.ts";

const GET_ROLLOUT = "/weir.rollout.v1.RolloutService/GetRollout";

describe("CONSOLE_PORT", () => {
  let folder: string;
  let port: number;
  let controlPlane: ControlPlane;
  let lines: string[];

  function create(env: Readonly<Record<string, string>>, http: Partial<Settings["http"]> = {}): ControlPlane {
    const listeners = { ADS_HOST: "127.0.0.1", ADS_PORT: "0", HTTP_HOST: "127.0.0.1", HTTP_PORT: "0" };
    const settings = parseSettings({ SOURCE_DIRECTORY: folder, ADS_PLAINTEXT: "true", ...listeners, ...env });
    const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
    const deps = { log, clock: Date.now, tracer: undefined };
    return new ControlPlane(deps, { ...settings, http: { ...settings.http, ...http } });
  }

  async function start(env: Readonly<Record<string, string>>): Promise<void> {
    controlPlane = create(env);
    await controlPlane.lifecycle.start();
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "weir-console-"));
    writeFileSync(join(folder, "a.yaml"), manifest({ name: "a", domain: "alpha" }));
    port = await reservePort();
    lines = [];
  });

  afterEach(async () => {
    await controlPlane.lifecycle.stop();
    rmSync(folder, { recursive: true });
  });

  it.each(["false", "true"])("serves reports on each loopback address with HTTP_REPORTS=%s", async (reports) => {
    await start({ HTTP_REPORTS: reports, CONSOLE_PORT: String(port) });
    expect(loopbackHosts()).toContain("127.0.0.1");
    const post = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    for (const host of loopbackHosts().map((each) => (each === "::1" ? "[::1]" : each))) {
      const url = `http://${host}:${port}`;
      const rollout = await fetch(`${url}${GET_ROLLOUT}`, post);
      expect([rollout.status, await rollout.json()]).toEqual([200, { rollout: expect.anything() as unknown }]);
      for (const path of ["/", "/metrics", "/readyz"]) expect((await fetch(url + path)).status).toBe(200);
    }
    expect(controlPlane.describe()).toMatchObject({ console: `http://127.0.0.1:${port}/` });
    const httpPort = controlPlane.http.address()?.port;
    const rollout = await fetch(`http://127.0.0.1:${httpPort}${GET_ROLLOUT}`, post);
    expect(rollout.status).toBe(reports === "true" ? 200 : 404);
  });

  it("listens on no address but those of loopback", async () => {
    await start({ HTTP_REPORTS: "false", CONSOLE_PORT: String(port) });
    expect(controlPlane.console?.address()).toEqual({ host: "127.0.0.1", port });
    // Of the same machine and the same interface: only the address differs.
    await expect(fetch(`http://127.0.0.2:${port}/readyz`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  it.each([
    { what: "a web page whose name leads to this machine", headers: { host: "rebound.example:1" }, status: 403 },
    { what: "a web page of another machine", headers: { origin: "https://evil.example" }, status: 403 },
    { what: "a web page of another port", headers: { origin: "http://localhost:3000" }, status: 403 },
    { what: "a web page of no origin", headers: { origin: "null" }, status: 403 },
    { what: "a page of its own", headers: { origin: "http://localhost:18092" }, status: 200 },
    { what: "a program", headers: {}, status: 200 },
  ])("answers $what with $status", async ({ headers, status }) => {
    await start({ CONSOLE_PORT: String(port) });
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path: "/readyz", headers: { host: "localhost:18092", ...headers } };
      request(options, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(answer).toBe(status);
  });

  it("runs without the console when the port is taken and CONSOLE_PORT is not set, and fails when it is set", async () => {
    await start({ CONSOLE_PORT: String(port) });
    const second = create({ CONSOLE_PORT: String(port) }, { needsConsole: false });
    await second.lifecycle.start();
    expect(second.describe()).not.toHaveProperty("console");
    const warnings = lines.filter((line) => line.includes("Running without the console"));
    expect(warnings.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        level: "warning",
        reason: `Cannot listen for console on 127.0.0.1:${port}: the port is in use; set CONSOLE_PORT to another one`,
      }),
    ]);
    await second.lifecycle.stop();
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    await expect(create({ CONSOLE_PORT: String(port) }).lifecycle.start()).rejects.toThrow("set CONSOLE_PORT");
  });

  it("is on no loopback address when one is taken", async () => {
    const hosts = loopbackHosts();
    const taker = createServer();
    await new Promise<void>((resolve) => void taker.listen({ host: hosts.at(-1), port }, resolve));
    try {
      controlPlane = create({ CONSOLE_PORT: String(port) }, { needsConsole: false });
      await controlPlane.lifecycle.start();
      expect(controlPlane.console?.address()).toBeUndefined();
      for (const host of hosts.slice(0, -1))
        await expect(fetch(`http://${host}:${port}/readyz`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    } finally {
      taker.close();
    }
  });

  it("opens no listener with CONSOLE_PORT=0", async () => {
    await start({ CONSOLE_PORT: "0" });
    expect(controlPlane.console).toBeUndefined();
    expect(controlPlane.describe()).not.toHaveProperty("console");
  });
});
