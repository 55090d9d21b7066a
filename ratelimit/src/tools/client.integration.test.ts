import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { createAuthority } from "@weir/common/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { openTlsFiles } from "@weir/common/tls/tls-files";
import { afterEach, describe, expect, it } from "vitest";

import { createHealth } from "../health/health.ts";
import { createServiceStatistics } from "../statistics/service-statistics.ts";
import { createStatisticsStore } from "../statistics/statistics-store.ts";
import type { ListenerTls } from "../transport/connection-listener.ts";
import { createGrpcJsTransport } from "../transport/grpc-js/grpc-js-transport.ts";
import type { Transport } from "../transport/transport.ts";
import { NO_TRACING, ScriptedDecider } from "../transport/transport.suite.ts";

const CLIENT = fileURLToPath(new URL("client.ts", import.meta.url));
const HOUR_MS = 3_600_000;

function run(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ["--conditions=source", CLIENT, ...args], { env: { PATH: process.env["PATH"] ?? "" } });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}

describe("weir-client", () => {
  let transport: Transport | undefined;
  let folder: string | undefined;

  afterEach(async () => {
    await transport?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    transport = folder = undefined;
  });

  async function serve(decider: ScriptedDecider, tls?: ListenerTls): Promise<string> {
    const statistics = createServiceStatistics(createStatisticsStore({ maxDynamicKeys: 10 }));
    const health = createHealth({ withConfig: false, withActiveConnection: false });
    transport = createGrpcJsTransport(
      { decider, tracing: NO_TRACING, health, statistics, nowMs: () => performance.now(), log: silentLog() },
      { address: { kind: "tcp", host: "127.0.0.1", port: 0 }, tls, connectionAgeMaxMs: HOUR_MS, connectionAgeGraceMs: HOUR_MS },
    );
    await transport.start();
    return transport.address() ?? "";
  }

  it("sends what the command line says and exits with 0 for OK", async () => {
    const decider = new ScriptedDecider();
    const address = await serve(decider);
    const answer = await run("-dial_string", address, "--domain=d", "-descriptors", "a=b,c=d", "-descriptors", "e=f", "-hits_addend", "3");
    expect(answer).toEqual({ code: 0, stdout: "a=b,c=d: OK, no limit\noverall: OK\n", stderr: "" });
    expect(decider.calls[0]?.request).toMatchObject({
      domain: "d",
      hitsAddend: 3,
      descriptors: [
        {
          entries: [
            { key: "a", value: "b" },
            { key: "c", value: "d" },
          ],
        },
        { entries: [{ key: "e", value: "f" }] },
      ],
    });
  });

  it("exits with 2 and names the address when nobody listens there", async () => {
    const answer = await run("-dial_string", "127.0.0.1:1", "-domain", "d", "-descriptors", "k=v");
    expect(answer).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "weir-client: cannot ask 127.0.0.1:1: UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1\n",
    });
  });

  it("exits with 2 when the answer does not come in time", async () => {
    const decider = new ScriptedDecider();
    decider.answer = undefined;
    const answer = await run("-dial_string", await serve(decider), "-domain", "d", "-descriptors", "k=v", "-timeout", "1");
    expect(answer).toMatchObject({ code: 2, stderr: expect.stringContaining("DEADLINE_EXCEEDED") });
  });

  it("exits with 2 and says what is missing when the command line is not whole", async () => {
    expect(await run("-domain", "d")).toEqual({
      code: 2,
      stdout: "",
      stderr: "weir-client: -descriptors is missing: KEY=VALUE pairs separated by commas\n",
    });
  });

  it("asks over mutual TLS, and names a file that is missing", async () => {
    const now = new Date();
    folder = await mkdtemp(join(tmpdir(), "weir-client-"));
    const path = (name: string): string => join(folder ?? "", name);
    const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    const server = await authority.issue({ commonName: "server", ipAddresses: ["127.0.0.1"], usage: "server", now, validDays: 1 });
    const client = await authority.issue({ commonName: "client", dnsNames: ["client.example"], usage: "client", now, validDays: 1 });
    await writeFile(path("ca.pem"), authority.certPem);
    await writeFile(path("server.pem"), server.certPem);
    await writeFile(path("server.key"), server.keyPem);
    await writeFile(path("client.pem"), client.certPem);
    await writeFile(path("client.key"), client.keyPem);
    const files = openTlsFiles({ certPath: path("server.pem"), keyPath: path("server.key"), caPath: path("ca.pem") }, { log: silentLog() });
    const address = await serve(new ScriptedDecider(), { files, clientName: undefined });
    const question = [
      "-dial_string",
      address,
      "-domain",
      "d",
      "-descriptors",
      "k=v",
      "-grpc-use-tls",
      "-grpc-server-ca-file",
      path("ca.pem"),
    ];
    expect(await run(...question, "-grpc-cert-file", path("client.pem"), "-grpc-key-file", path("client.key"))).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(await run(...question)).toMatchObject({ code: 2, stderr: expect.stringContaining("UNAVAILABLE") });
    const missing = await run(...question, "-grpc-cert-file", path("nothing.pem"), "-grpc-key-file", path("client.key"));
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining(path("nothing.pem")) });
  });
});
