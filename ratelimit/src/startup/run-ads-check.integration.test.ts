// Tests of the command check-ads: what it prints, and its exit code.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { rateLimitConfig, ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { parseSettings } from "../settings.ts";
import { runAdsCheck } from "./run-ads-check.ts";

/** Time of a check that must not fail, in milliseconds. */
const LONG_MS = 60_000;

describe("runAdsCheck()", () => {
  let server: ScriptedAdsServer;

  beforeEach(async () => {
    server = new ScriptedAdsServer();
    await server.open();
  });

  afterEach(() => server.close());

  async function run(env: Readonly<Record<string, string>>, timeoutMs: number) {
    const output = { stdout: "", stderr: "" };
    const code = await runAdsCheck(parseSettings(env), timeoutMs, {
      signal: new AbortController().signal,
      stdout: (text) => (output.stdout += text),
      stderr: (text) => (output.stderr += text),
    });
    return { code, ...output };
  }

  function settings(useTls: boolean): Readonly<Record<string, string>> {
    return {
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${server.port}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: String(useTls),
    };
  }

  it("prints the version and the names of the resources", async () => {
    server.publish("v1", [rateLimitConfig("a"), rateLimitConfig("b")]);
    expect(await run(settings(false), LONG_MS)).toEqual({
      code: 0,
      stdout: `127.0.0.1:${server.port} sent version v1, resources: 2\nresource-a\nresource-b\n`,
      stderr: "",
    });
  });

  it("names why TLS fails once, and again at the end", async () => {
    const { code, stdout, stderr } = await run(settings(true), 2000);
    const place = `Cannot load the configuration of 127.0.0.1:${server.port}`;
    const lines = stderr.trimEnd().split("\n");
    expect([code, stdout, lines.length]).toEqual([1, "", 2]);
    expect(lines[0]).toContain(`${place} yet: the configuration server `);
    expect(lines[1]).toContain(`weir-ratelimit: ${place} within 2 s: the configuration server `);
    for (const line of lines) expect(line).toContain("CONFIG_GRPC_XDS_SERVER_USE_TLS=false is for servers without TLS");
  });

  it("prints a reason that stays the same once", async () => {
    const closing = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(closing, "listening");
    const { port } = closing.address() as AddressInfo;
    const url = { CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${port}` };
    const { code, stderr } = await run({ ...settings(false), ...url }, 2500);
    closing.close();
    const lines = stderr.trimEnd().split("\n");
    expect([code, lines.length]).toEqual([1, 2]);
    for (const line of lines) expect(line).toContain("No connection established");
  });

  it("says that there is no configuration server to check when rules are in files", async () => {
    expect(await run({}, LONG_MS)).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "weir-ratelimit: Cannot check ADS: CONFIG_TYPE is FILE; GRPC_XDS_SOTW and GRPC_XDS_DELTA name a configuration server\n",
    });
  });
});
