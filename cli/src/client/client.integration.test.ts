// Tests of weir-client as a process: output, exit codes, TLS, traces.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ServerCredentials } from "@grpc/grpc-js";
import { createAuthority } from "@weir/certificates/authority";
import { RateLimitServer } from "@weir/harness/servers/rate-limit-server";
import { startSource } from "@weir/harness/processes/programs";
import { afterEach, describe, expect, it } from "vitest";

function run(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return runWith({}, ...args);
}

async function runWith(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const client = startSource("cli/src/client.ts", env, args);
  return { code: await client.code, stdout: client.output(), stderr: client.errors() };
}

describe("weir-client", () => {
  let server = new RateLimitServer();
  let folder: string | undefined;

  afterEach(async () => {
    server.stop();
    server = new RateLimitServer();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    folder = undefined;
  });

  function serve(address = "127.0.0.1:0", credentials = ServerCredentials.createInsecure()): Promise<string> {
    return server.start(address, credentials);
  }

  it("sends what the command line says and exits with 0 for OK", async () => {
    server.behaviour = { overallCode: 1, statuses: [{ code: 1 }] };
    const address = await serve();
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
    expect(server.calls[0]?.request).toMatchObject({
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
    const status = {
      code: 2,
      currentLimit: { requestsPerUnit: 5, unit: 2 },
      durationUntilReset: { seconds: 7n },
    } as const;
    server.behaviour = { overallCode: 2, statuses: [status] };
    const answer = await run("-dial_string", await serve(), "-domain", "d", "-descriptors", "k=v");
    expect(answer).toEqual({
      code: 1,
      stdout: "k=v: OVER_LIMIT, 0 left of 5 per minute, resets in 7 s\noverall: OVER_LIMIT\n",
      stderr: "",
    });
  });

  it("calls over a unix socket, and names one that does not exist", async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-client-"));
    const path = join(folder, "grpc.sock");
    await serve(`unix:${path}`);
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

  it("starts a trace that the service continues, and exports its span", async () => {
    const received: Buffer[] = [];
    const collector = createServer((request, response) => {
      request.on("data", (chunk: Buffer) => received.push(chunk));
      request.on("end", () => response.end());
    });
    await once(collector.listen(0, "127.0.0.1"), "listening");
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    const question = ["-dial_string", await serve(), "-domain", "d", "-descriptors", "k=v", "-oltp-protocol", "http"];
    expect(await runWith({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, ...question)).toMatchObject({
      code: 0,
      stderr: "",
    });
    collector.close();
    const [, traceId = "none", spanId = "none"] =
      /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(server.calls[0]?.metadata.get("traceparent")[0])) ?? [];
    const sent = Buffer.concat(received);
    for (const part of [Buffer.from(traceId, "hex"), Buffer.from(spanId, "hex"), Buffer.from("weir-client")])
      expect(sent.includes(part)).toBe(true);
  });

  it("returns the response when the receiver of traces is away", async () => {
    const question = ["-dial_string", await serve(), "-domain", "d", "-descriptors", "k=v", "-oltp-protocol", "grpc"];
    const answer = await runWith({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }, ...question);
    expect(answer).toMatchObject({ code: 0, stdout: "k=v: OK, no limit\noverall: OK\n" });
  });

  it("exits with 2 and names the address when nothing listens there", async () => {
    const answer = await run("-dial_string", "127.0.0.1:1", "-domain", "d", "-descriptors", "k=v");
    expect(answer).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "weir-client: cannot ask 127.0.0.1:1: UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1\n",
    });
  });

  it("exits with 2 when the answer does not come in time", async () => {
    server.behaviour = "silent";
    const answer = await run("-dial_string", await serve(), "-domain", "d", "-descriptors", "k=v", "-timeout", "1");
    expect(answer).toMatchObject({ code: 2, stderr: expect.stringContaining("DEADLINE_EXCEEDED") });
  });

  it("exits with 2 and says what is missing when the command line is not whole", async () => {
    expect(await run("-domain", "d")).toEqual({
      code: 2,
      stdout: "",
      stderr: "weir-client: -descriptors is missing: KEY=VALUE pairs separated by commas\n",
    });
  });

  it("calls over mutual TLS, and names a missing file", async () => {
    const now = new Date();
    folder = await mkdtemp(join(tmpdir(), "weir-client-"));
    const path = (name: string): string => join(folder ?? "", name);
    const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    const identity = await authority.issue({
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
    await writeFile(path("client.pem"), client.certPem);
    await writeFile(path("client.key"), client.keyPem);
    const credentials = ServerCredentials.createSsl(
      Buffer.from(authority.certPem),
      [{ private_key: Buffer.from(identity.keyPem), cert_chain: Buffer.from(identity.certPem) }],
      true,
    );
    const address = await serve("127.0.0.1:0", credentials);
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
