// The load generator against a grpc-js server, which knows nothing of it: what it reports must be what
// the server saw, and a wrong answer must end it.
import { readFileSync } from "node:fs";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Metadata,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  status,
} from "@grpc/grpc-js";
import {
  type RateLimitRequest,
  type RateLimitResponse,
  RateLimitResponse_Code as Code,
  RateLimitResponseSchema,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { eventually } from "@weir/harness/processes/eventually";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "@weir/harness/processes/programs";
import { startProcess } from "@weir/harness/processes/start-process";
import { buildGenerator, runGenerator } from "./generator.ts";

type Answer = MessageInitShape<typeof RateLimitResponseSchema> | "error" | "silence";

const OK: Answer = { overallCode: Code.OK, statuses: [{ code: Code.OK, limitRemaining: 4_000_000_000 }] };
const OVER: Answer = { overallCode: Code.OVER_LIMIT, statuses: [{ code: Code.OVER_LIMIT }] };

const SHORT = ["--warm-up", "0.1", "--seconds", "1"] as const;

describe("the load generator", () => {
  const folder = makeTemporaryFolder();
  const servers: Server[] = [];
  let program = "";

  beforeAll(async () => {
    program = await buildGenerator(folder.path);
  });

  afterEach(() => {
    for (const server of servers.splice(0)) server.forceShutdown();
  });

  afterAll(() => folder.remove());

  function serve(
    answer: Answer,
    options: {
      readonly tls?: ServerCredentials;
      readonly saw?: (request: RateLimitRequest, metadata: Metadata) => void;
    } = {},
  ): Promise<number> {
    const server = new Server();
    servers.push(server);
    server.addService(serviceDefinition(RateLimitService), {
      shouldRateLimit: (
        { request, metadata }: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
        reply: sendUnaryData<RateLimitResponse>,
      ) => {
        options.saw?.(request, metadata);
        if (answer === "silence") return;
        if (answer === "error") reply({ code: status.UNAVAILABLE, details: "away" });
        else reply(null, create(RateLimitResponseSchema, answer));
      },
    });
    return new Promise((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", options.tls ?? ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  }

  function run(port: number, ...flags: readonly string[]) {
    return runGenerator([program], ["--port", String(port), ...SHORT, ...flags], "a test");
  }

  it("asks about several descriptors", async () => {
    const asked = new Set<string>();
    const port = await serve(OK, {
      saw: ({ descriptors }) =>
        asked.add(
          descriptors.map(({ entries }) => entries.map(({ key, value }) => `${key}=${value}`).join()).join(" "),
        ),
    });
    const entries = ["--entry", "a=x", "--entry", "b={key}", "--descriptor", "--entry", "a={key}"];
    await run(port, "--keys", "1", "--seconds", "0.2", ...entries);
    expect([...asked]).toEqual(["a=x,b=0000000 a=0000000"]);
  });

  it("asks about every key and reports the answers of the server when the loop is closed", async () => {
    const keys = new Set<string>();
    const entries = new Set<string>();
    const port = await serve(OK, {
      saw: ({ domain, descriptors: [descriptor] }) => {
        const [first, second] = descriptor?.entries ?? [];
        entries.add(`${domain} ${first?.key ?? ""}=${first?.value ?? ""} ${second?.key ?? ""}`);
        keys.add(second?.value ?? "");
      },
    });
    const entry = ["--entry", "cluster=proxy", "--entry", "user=u{key}"];
    const report = await run(port, "--keys", "20", "--in-flight", "8", "--seconds", "1", ...entry);
    expect([...entries]).toEqual(["bench cluster=proxy user"]);
    expect([...keys].toSorted()).toEqual(Array.from({ length: 20 }, (_, key) => `u${String(key).padStart(7, "0")}`));
    expect(report.answers).toBeGreaterThan(50);
    expect(report.allAnswers).toBeGreaterThan(report.answers);
    expect(report.p50Micros).toBeGreaterThan(0);
    expect(report.p90Micros).toBeGreaterThanOrEqual(report.p50Micros);
    expect(report.p99Micros).toBeGreaterThanOrEqual(report.p90Micros);
    expect(report.maxMicros).toBeGreaterThanOrEqual(report.p999Micros * 0.99);
  });

  it("sends fresh trace headers on every call when asked to", async () => {
    const seen = {
      traceparent: new Set<string>(),
      "x-request-id": new Set<string>(),
    };
    const calls: number[] = [];
    const port = await serve(OK, {
      saw: (_, metadata) => {
        calls.push(1);
        for (const [name, values] of Object.entries(seen)) values.add(String(metadata.get(name)[0]));
      },
    });
    await run(port, "--trace-headers", "--connections", "2", "--in-flight", "4");
    for (const values of Object.values(seen)) expect(values.size).toBe(calls.length);
    expect([...seen.traceparent][0]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect([...seen["x-request-id"]][0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it("keeps the rate when the loop is open", async () => {
    const port = await serve(OK);
    const report = await run(port, "--rate", "200", "--warm-up", "0.5", "--seconds", "3");
    // Calls come at random: 700 of them, give or take six standard deviations; the last ones are awaited.
    expect(report.allAnswers).toBeGreaterThan(540);
    expect(report.allAnswers).toBeLessThan(860);
  });

  it("counts the waiting of calls that are never answered", async () => {
    const port = await serve("silence");
    const report = await run(port, "--rate", "100", "--seconds", "0.5");
    expect(report.answers).toBe(0);
    expect(report.p50Micros).toBeGreaterThan(100_000);
    expect(report.maxMicros).toBeGreaterThan(400_000);
  });

  it("reports what a process uses", async () => {
    const port = await serve(OK);
    const { watched } = await run(port, "--watch", String(process.pid));
    expect(watched).toHaveLength(1);
    expect(watched[0]).toMatchObject({ pid: process.pid });
    expect(watched[0]?.cpuMs).toBeGreaterThan(0);
    expect(watched[0]?.residentBytes).toBeGreaterThan(10e6);
  });

  it("speaks TLS, and checks the certificate", async () => {
    const { ca, serverCert, serverKey, clientCert } = await writeCertificates(folder.path);
    const pair = { cert_chain: readFileSync(serverCert), private_key: readFileSync(serverKey) };
    const port = await serve(OK, { tls: ServerCredentials.createSsl(null, [pair]) });
    expect((await run(port, "--tls-ca", ca, "--connections", "2", "--seconds", "2")).answers).toBeGreaterThan(0);
    await expect(run(port, "--tls-ca", clientCert)).rejects.toThrow("the TLS handshake failed");
  });

  it("takes answers that are over the limit when these are expected", async () => {
    expect((await run(await serve(OVER), "--expect", "over")).answers).toBeGreaterThan(0);
  });

  it.each<{ readonly what: string; readonly answer: Answer; readonly expected: string; readonly message: string }>([
    { what: "over the limit", answer: OVER, expected: "ok", message: "an answer is wrong: a descriptor is not OK" },
    { what: "OK", answer: OK, expected: "over", message: "an answer is wrong: a descriptor is not over the limit" },
    {
      what: "OK with a descriptor that is over the limit",
      answer: { overallCode: Code.OK, statuses: [{ code: Code.OVER_LIMIT }] },
      expected: "ok",
      message: "an answer is wrong: a descriptor is not OK",
    },
    {
      what: "without descriptors",
      answer: { overallCode: Code.OK },
      expected: "ok",
      message: "an answer is wrong: it has no descriptor",
    },
    {
      what: "with an error",
      answer: "error",
      expected: "ok",
      message: "a call was answered with grpc-status 14: away",
    },
  ])("fails when an answer is $what and not what is expected", async ({ answer, expected, message }) => {
    const port = await serve(answer);
    await expect(run(port, "--expect", expected)).rejects.toThrow(`Cannot measure a test: load-generator: ${message}`);
  });

  it("fails when nothing listens, and for an invalid command line", async () => {
    await expect(run(1)).rejects.toThrow("connecting to port 1 failed: Connection refused");
    await expect(run(1, "--keys", "many")).rejects.toThrow("--keys is 'many'; allowed are 1 to 1e+07");
  });

  it("explains itself", async () => {
    const { code, stdout } = await runCommand(`${program} --help`, { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toContain("Usage: load-generator --port PORT");
    expect(stdout).toContain("load-generator --port 8081 --rate 5000 --trace-headers");
  });

  it.each([[], ["--expect", "over"]])("answers itself with --serve %s", async (...flags) => {
    const args = ["--serve", "--port", "0", ...flags];
    const ceiling = await startProcess({ name: "ceiling", command: program, args, env: {} });
    try {
      const port = await eventually("the server to listen", () => {
        if (ceiling.lastLines()[0] === undefined) throw new Error("no line");
        return Number(ceiling.lastLines()[0]);
      });
      expect((await run(port, ...flags)).answers).toBeGreaterThan(100);
    } finally {
      ceiling.kill();
      await ceiling.exited;
    }
  });
});
