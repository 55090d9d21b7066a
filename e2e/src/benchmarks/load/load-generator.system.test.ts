// The load generator against a grpc-js server: what it reports must be what the server saw.
import { create, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import type { sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import type { RateLimitRequest, RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import {
  RateLimitRequestSchema,
  RateLimitResponse_Code as Code,
  RateLimitResponseSchema,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, describe, expect, it } from "vitest";
import { KEY_MARKER } from "./call-connection.ts";
import type { LoadOrder } from "./load-generator.ts";
import { generateLoad } from "./load-generator.ts";

type Answer = (request: RateLimitRequest) => RateLimitResponse | undefined;

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.forceShutdown();
});

describe("generateLoad()", () => {
  it("reports the answers of the server and asks about every key in turn when the loop is closed", async () => {
    const keys = new Set<string>();
    const port = await serve((request) => {
      keys.add(request.descriptors[0]!.entries[0]!.value);
      return create(RateLimitResponseSchema, { overallCode: Code.OK });
    });
    const report = await generateLoad(
      order(port, { load: { kind: "closed", inFlight: 8 }, keys: 50, measureMs: 2000 }),
    );
    expect([...keys].sort()[0]).toBe("00000000");
    expect([...keys].sort().at(-1)).toBe("00000049");
    expect(keys.size).toBe(50);
    expect(report.answers).toBeGreaterThan(50);
    expect(report.overLimit).toBe(0);
    expect(report.p50Ms).toBeGreaterThan(0);
    expect(report.p99Ms).toBeGreaterThanOrEqual(report.p50Ms);
  });

  it("keeps the rate when the loop is open", async () => {
    const port = await serve(() => create(RateLimitResponseSchema, { overallCode: Code.OK }));
    // Generator and server share an event loop here, so a busy machine may carry a backlog into or
    // out of the measured time, but not every time.
    const rates: number[] = [];
    const isKept = (rate: number): boolean => rate > 150 && rate < 250;
    while (rates.length < 8 && !rates.some(isKept)) {
      const report = await generateLoad(
        order(port, { load: { kind: "open", perSecond: 200 }, warmUpMs: 400, measureMs: 1500 }),
      );
      rates.push(report.answers / report.seconds);
    }
    expect(rates).toContainEqual(expect.toSatisfy(isKept));
  });

  it("counts answers over the limit apart", async () => {
    const port = await serve(() => create(RateLimitResponseSchema, { overallCode: Code.OVER_LIMIT }));
    const report = await generateLoad(order(port, {}));
    expect(report.overLimit).toBe(report.answers);
    expect(report.overLimit).toBeGreaterThan(0);
  });

  it("counts the waiting of calls that are never answered", async () => {
    const port = await serve("silence");
    const report = await generateLoad(
      order(port, { load: { kind: "open", perSecond: 100 }, warmUpMs: 100, measureMs: 500 }),
    );
    expect(report.answers).toBe(0);
    expect(report.p50Ms).toBeGreaterThan(100);
    expect(report.maxMs).toBeGreaterThan(450);
  });

  it("fails instead of reporting when the server answers with errors", async () => {
    const port = await serve(() => undefined);
    await expect(generateLoad(order(port, {}))).rejects.toThrow(
      "a call was answered with an error instead of a decision",
    );
  });

  it("fails instead of reporting when nothing listens", async () => {
    await expect(generateLoad(order(1, {}))).rejects.toThrow("ECONNREFUSED");
  });
});

function order(port: number, changes: Partial<LoadOrder>): LoadOrder {
  const message = toBinary(
    RateLimitRequestSchema,
    create(RateLimitRequestSchema, {
      domain: "bench",
      descriptors: [{ entries: [{ key: "user", value: KEY_MARKER }] }],
    }),
  );
  return {
    host: "127.0.0.1",
    port,
    path: serviceDefinition(RateLimitService).shouldRateLimit.path,
    message: Buffer.from(message).toString("base64"),
    connections: 2,
    keys: 1000,
    warmUpMs: 100,
    measureMs: 300,
    load: { kind: "closed", inFlight: 4 },
    ...changes,
  };
}

function serve(answer: Answer | "silence"): Promise<number> {
  const server = new Server();
  servers.push(server);
  server.addService(serviceDefinition(RateLimitService), {
    shouldRateLimit: (
      call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
      reply: sendUnaryData<RateLimitResponse>,
    ) => {
      if (answer === "silence") return;
      const response = answer(call.request);
      if (response === undefined) reply({ code: status.UNAVAILABLE, details: "no" });
      else reply(null, response);
    },
  });
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}
