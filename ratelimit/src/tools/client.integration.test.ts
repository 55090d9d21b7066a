import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import type { ListenerTls } from "@weir/common/net/connection-listener";
import { openTlsFiles } from "@weir/common/tls/tls-files";
import type { TraceHeaders } from "@weir/common/tracing/tracing-sdk";
import { afterEach, describe, expect, it } from "vitest";

import { createHealth } from "../health/health.ts";
import { createServiceStatistics } from "../statistics/service-statistics.ts";
import { createStatisticsStore } from "../statistics/statistics-store.ts";
import type { ListenerAddress } from "../transport/transport.ts";
import { GrpcJsTransport } from "../transport/grpc-js/grpc-js-transport.ts";
import type { Transport } from "../transport/transport.ts";
import { NO_TRACING, ScriptedDecider } from "../transport/transport.suite.ts";

const CLIENT = fileURLToPath(new URL("client.ts", import.meta.url));
const HOUR_MS = 3_600_000;
const ANY_PORT: ListenerAddress = { kind: "tcp", host: "127.0.0.1", port: 0 };

function run(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return runWith({}, ...args);
}

function runWith(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ["--conditions=source", CLIENT, ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
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

  async function serve(decider: ScriptedDecider, tls?: ListenerTls, at: ListenerAddress = ANY_PORT): Promise<string> {
    const statistics = createServiceStatistics(createStatisticsStore({ maxDynamicKeys: 10 }));
    const health = createHealth({ withConfig: false, withActiveConnection: false });
    transport = new GrpcJsTransport(
      { decider, tracing: NO_TRACING, health, statistics, nowMs: () => performance.now(), log: silentLog() },
      { address: at, tls, connectionAgeMaxMs: HOUR_MS, connectionAgeGraceMs: HOUR_MS },
    );
    await transport.start();
    return transport.address() ?? "";
  }

  it("sends what the command line says and exits with 0 for OK", async () => {
    const decider = new ScriptedDecider();
    const address = await serve(decider);
    const answer = await run(
      "-dial_string",
      address,
      "--domain=d",
      "-descriptors",
      "a=b,c=d",
      "-descriptors",
      "e=f",
      "-hits_addend",
      "3",
    );
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

  it("exits with 1 for OVER_LIMIT, and shows what is left of each descriptor", async () => {
    const decider = new ScriptedDecider();
    const status = {
      code: 2,
      currentLimit: { requestsPerUnit: 5, unit: 2, name: "" },
      limitRemaining: 0,
      durationUntilResetSeconds: 7,
    } as const;
    decider.answer = { overallCode: 2, statuses: [status], headers: undefined, dynamicMetadata: undefined };
    const answer = await run("-dial_string", await serve(decider), "-domain", "d", "-descriptors", "k=v");
    expect(answer).toEqual({
      code: 1,
      stdout: "k=v: OVER_LIMIT, 0 left of 5 per minute, resets in 7 s\noverall: OVER_LIMIT\n",
      stderr: "",
    });
  });

  it("asks over a unix socket, and names one that is not there", async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-client-"));
    const path = join(folder, "grpc.sock");
    await serve(new ScriptedDecider(), undefined, { kind: "unix", path });
    expect(await run("-dial_string", `unix:${path}`, "-domain", "d", "-descriptors", "k=v")).toMatchObject({
      code: 0,
      stderr: "",
    });
    const nowhere = await run("-dial_string", `unix:${path}x`, "-domain", "d", "-descriptors", "k=v");
    expect(nowhere).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/cannot ask unix:\S+sockx: UNAVAILABLE: .*ENOENT/),
    });
  });

  it("begins a trace that the service is told of, and exports its span", async () => {
    const received: Buffer[] = [];
    const collector = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => received.push(chunk));
      request.on("end", () => response.end());
    });
    await once(collector.listen(0, "127.0.0.1"), "listening");
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    const decider = new ScriptedDecider();
    const question = [
      "-dial_string",
      await serve(decider),
      "-domain",
      "d",
      "-descriptors",
      "k=v",
      "-oltp-protocol",
      "http",
    ];
    expect(await runWith({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, ...question)).toMatchObject({
      code: 0,
      stderr: "",
    });
    collector.close();
    const call = decider.calls[0]?.call as { headers?: () => TraceHeaders } | undefined;
    const [, traceId = "none", spanId = "none"] =
      /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(call?.headers?.()["traceparent"])) ?? [];
    const sent = Buffer.concat(received);
    for (const part of [Buffer.from(traceId, "hex"), Buffer.from(spanId, "hex"), Buffer.from("weir-client")])
      expect(sent.includes(part)).toBe(true);
  });

  it("answers all the same when the receiver of traces is away", async () => {
    const question = [
      "-dial_string",
      await serve(new ScriptedDecider()),
      "-domain",
      "d",
      "-descriptors",
      "k=v",
      "-oltp-protocol",
      "grpc",
    ];
    const answer = await runWith({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }, ...question);
    expect(answer).toMatchObject({ code: 0, stdout: "k=v: OK, no limit\noverall: OK\n" });
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
    const answer = await run(
      "-dial_string",
      await serve(decider),
      "-domain",
      "d",
      "-descriptors",
      "k=v",
      "-timeout",
      "1",
    );
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
    const server = await authority.issue({
      commonName: "server",
      ipAddresses: ["127.0.0.1"],
      usage: "server",
      now,
      validDays: 1,
    });
    const client = await authority.issue({
      commonName: "client",
      dnsNames: ["client.example"],
      usage: "client",
      now,
      validDays: 1,
    });
    await writeFile(path("ca.pem"), authority.certPem);
    await writeFile(path("server.pem"), server.certPem);
    await writeFile(path("server.key"), server.keyPem);
    await writeFile(path("client.pem"), client.certPem);
    await writeFile(path("client.key"), client.keyPem);
    const files = openTlsFiles(
      { certPath: path("server.pem"), keyPath: path("server.key"), caPath: path("ca.pem") },
      { log: silentLog() },
    );
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
    expect(
      await run(...question, "-grpc-cert-file", path("client.pem"), "-grpc-key-file", path("client.key")),
    ).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(await run(...question)).toMatchObject({ code: 2, stderr: expect.stringContaining("UNAVAILABLE") });
    const missing = await run(
      ...question,
      "-grpc-cert-file",
      path("nothing.pem"),
      "-grpc-key-file",
      path("client.key"),
    );
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining(path("nothing.pem")) });
  });
});
