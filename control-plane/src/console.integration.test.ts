// Tests of CONSOLE_PORT: reports for clients on this machine and no other, whatever HTTP_REPORTS
// says.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog } from "@weir/common/log/log";
import { loopbackHosts } from "@weir/common/settings/listen-hosts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { parseSettings } from "./settings.ts";

const GET_ROLLOUT = "/weir.rollout.v1.RolloutService/GetRollout";

describe("CONSOLE_PORT", () => {
  let folder: string;
  let port: number;
  let controlPlane: ControlPlane;

  async function start(env: Readonly<Record<string, string>>): Promise<void> {
    const listeners = { ADS_HOST: "127.0.0.1", ADS_PORT: "0", HTTP_HOST: "127.0.0.1", HTTP_PORT: "0" };
    const settings = parseSettings({ SOURCE_DIRECTORY: folder, ADS_PLAINTEXT: "true", ...listeners, ...env });
    const log = createLog({ level: "info", format: "json", write: () => undefined });
    controlPlane = new ControlPlane({ log, clock: Date.now, tracer: undefined }, settings);
    await controlPlane.lifecycle.start();
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "weir-console-"));
    writeFileSync(join(folder, "a.yaml"), manifest({ name: "a", domain: "alpha" }));
    port = await reservePort();
  });

  afterEach(async () => {
    await controlPlane.lifecycle.stop();
    rmSync(folder, { recursive: true });
  });

  it.each(["false", "true"])("serves reports on each loopback address with HTTP_REPORTS=%s", async (reports) => {
    await start({ HTTP_REPORTS: reports, CONSOLE_PORT: String(port) });
    expect(loopbackHosts()).toContain("127.0.0.1");
    for (const host of loopbackHosts().map((each) => (each === "::1" ? "[::1]" : each))) {
      const url = `http://${host}:${port}`;
      const post = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
      const rollout = await fetch(`${url}${GET_ROLLOUT}`, post);
      expect([rollout.status, await rollout.json()]).toEqual([200, { rollout: expect.anything() as unknown }]);
      for (const path of ["/status", "/metrics", "/readyz"]) expect((await fetch(url + path)).status).toBe(200);
    }
    expect(controlPlane.describe()).toMatchObject({ console: `http://127.0.0.1:${port}/status` });
    const httpPort = controlPlane.http.address()?.port;
    expect((await fetch(`http://127.0.0.1:${httpPort}/status`)).status).toBe(reports === "true" ? 200 : 404);
  });

  it("listens on no address but those of loopback", async () => {
    await start({ HTTP_REPORTS: "false", CONSOLE_PORT: String(port) });
    expect(controlPlane.console?.address()).toEqual({ host: "127.0.0.1", port });
    // Of the same machine and the same interface: only the address differs.
    await expect(fetch(`http://127.0.0.2:${port}/status`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
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
      const options = { host: "127.0.0.1", port, path: "/status", headers: { host: "localhost:18092", ...headers } };
      request(options, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(answer).toBe(status);
  });

  it("opens no listener with CONSOLE_PORT=0", async () => {
    await start({ CONSOLE_PORT: "0" });
    expect(controlPlane.console).toBeUndefined();
    expect(controlPlane.describe()).not.toHaveProperty("console");
  });
});
