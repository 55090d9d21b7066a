// Calls the built program with the gRPC and HTTP/2 clients that people have: grpc-js, grpcurl, ghz and
// h2load; checks the answers and the counts.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { findTool } from "@weir/harness/processes/tools";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, runCommand } from "@weir/harness/processes/programs";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";

const GRPCURL_VERSION = "1.9.4";
const GHZ_VERSION = "0.93.0";

const METHOD = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** A limit that no test reaches, and one that each exceeds. A year does not end during a test. */
const RULES = `
domain: clients
descriptors:
  - key: many
    rate_limit: {unit: year, requests_per_unit: 100000}
  - key: few
    rate_limit: {unit: year, requests_per_unit: 2}
`;

/** Calls of each load. */
const CALLS = 400;

describe("the rate limit service", () => {
  const folder = makeTemporaryFolder();
  let service: RateLimitService;

  beforeAll(async () => {
    const env = { BACKEND_TYPE: "memory" };
    service = await startRateLimitService(folder.path, { "d.yaml": RULES }, env, { isBuilt: true });
  });

  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  /** The calls that are left to a client of the large limit. */
  async function remaining(client: string): Promise<number | undefined> {
    const { statuses } = await service.ask("clients", { entries: { many: client } });
    return statuses[0]?.remaining;
  }

  it("answers a client of grpc-js", async () => {
    const ask = (): Promise<unknown> => service.ask("clients", { entries: { few: "grpc-js" } });
    const [limit, resetSeconds] = ["2 per YEAR", expect.any(Number)];
    expect([await ask(), await ask(), await ask()]).toMatchObject([
      { code: "OK", statuses: [{ code: "OK", remaining: 1, limit, resetSeconds }] },
      { code: "OK", statuses: [{ code: "OK", remaining: 0, limit, resetSeconds }] },
      { code: "OVER_LIMIT", statuses: [{ code: "OVER_LIMIT", remaining: 0, limit, resetSeconds }] },
    ]);
  });

  it("answers grpcurl, which has no .proto files", async () => {
    const body = JSON.stringify({
      domain: "clients",
      descriptors: [{ entries: [{ key: "few", value: "grpcurl" }], hits_addend: 3 }],
    });
    const { code, stdout } = await run(
      tool("grpcurl", GRPCURL_VERSION),
      "-plaintext",
      "-d",
      body,
      service.grpcAddress,
      METHOD,
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      overallCode: "OVER_LIMIT",
      statuses: [
        {
          code: "OVER_LIMIT",
          currentLimit: { requestsPerUnit: 2, unit: "YEAR" },
          durationUntilReset: expect.stringMatching(/^\d+s$/),
        },
      ],
    });
    const malformed = await run(
      tool("grpcurl", GRPCURL_VERSION),
      "-plaintext",
      "-d",
      '{"domain":""}',
      service.grpcAddress,
      METHOD,
    );
    expect(malformed.code).toBe(64 + 3); // grpcurl adds 64 to the status INVALID_ARGUMENT.
    expect(malformed.stderr).toContain("rate limit domain must not be empty");
  });

  it("answers every call of ghz, over several connections with many calls in flight", async () => {
    const body = JSON.stringify({ domain: "clients", descriptors: [{ entries: [{ key: "many", value: "ghz" }] }] });
    const { code, stdout } = await run(
      tool("ghz", GHZ_VERSION),
      ...["--insecure", "--call", METHOD, "--connections", "4", "-c", "40", "-n", String(CALLS)],
      ...["-d", body, "-O", "json", service.grpcAddress],
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ count: CALLS, statusCodeDistribution: { OK: CALLS } });
    expect(await remaining("ghz")).toBe(100_000 - CALLS - 1);
  });

  it("answers every call of h2load", async () => {
    const message = toBinary(
      RateLimitRequestSchema,
      create(RateLimitRequestSchema, {
        domain: "clients",
        descriptors: [{ entries: [{ key: "many", value: "h2load" }] }],
      }),
    );
    const file = join(folder.path, "request.bin");
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    writeFileSync(file, Buffer.concat([prefix, message]));
    const { code, stdout } = await run(
      "h2load",
      ...["-n", String(CALLS), "-c", "4", "-m", "20", "-d", file],
      ...["-H", "content-type: application/grpc", "-H", "te: trailers", `http://${service.grpcAddress}/${METHOD}`],
    );
    expect(code).toBe(0);
    expect(stdout).toContain(`${CALLS} succeeded, 0 failed, 0 errored, 0 timeout`);
    expect(stdout).toContain(`status codes: ${CALLS} 2xx, 0 3xx, 0 4xx, 0 5xx`);
    expect(await remaining("h2load")).toBe(100_000 - CALLS - 1);
  });
});

/** The path of a program that the set-up of the tests builds. */
function tool(name: string, version: string): string {
  return findTool(`${name}-${version}`, name);
}

/** Runs a program to its end. */
function run(program: string, ...args: readonly string[]): ReturnType<typeof runCommand> {
  const quoted = [program, ...args].map((arg) => `'${arg.replaceAll("'", "'\\\\''")}'`).join(" ");
  return runCommand(quoted, { cwd: ROOT });
}
