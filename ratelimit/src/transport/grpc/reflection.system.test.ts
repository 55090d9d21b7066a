// Reflection as its users see it: a real grpcurl that has none of our .proto
// files, and raw streams where it is too polite.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type ClientDuplexStream, type ServiceError as GrpcError, status } from "@grpc/grpc-js";
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "@weir/proto/generated/grpc/reflection/v1/reflection_pb";
import { startProgram } from "@weir/harness/processes/start-process";
import { findTool } from "@weir/harness/processes/tools";
import { beforeEach, describe, expect, it } from "vitest";

import { type OpenedTransport, useTransport } from "./opened-transport.suite.ts";

const GRPCURL_VERSION = "1.9.4";
const GRPCURL = findTool(`grpcurl-${GRPCURL_VERSION}`, "grpcurl");

/** Exit code and everything that grpcurl prints. */
async function grpcurl(...args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const program = startProgram(GRPCURL, ["-plaintext", "-max-time", "30", ...args]);
  return { code: await program.code, output: program.text() };
}

let opened: OpenedTransport;
const { client, start } = useTransport();

beforeEach(async () => {
  opened = await start();
  opened.health.set("start", true);
});

const address = (): string => opened.target;

describe("reflection, asked by grpcurl", () => {
  it("grpcurl lists the services and the methods of one", async () => {
    expect(await grpcurl(address(), "list")).toEqual({
      code: 0,
      output:
        "envoy.service.ratelimit.v3.RateLimitService\ngrpc.health.v1.Health\ngrpc.reflection.v1.ServerReflection\ngrpc.reflection.v1alpha.ServerReflection\n",
    });
    expect(await grpcurl(address(), "list", "grpc.health.v1.Health")).toEqual({
      code: 0,
      output: "grpc.health.v1.Health.Check\ngrpc.health.v1.Health.List\ngrpc.health.v1.Health.Watch\n",
    });
  });

  it("grpcurl describes the service, a message and a field of it", async () => {
    expect((await grpcurl(address(), "describe", "envoy.service.ratelimit.v3.RateLimitService")).output).toContain(
      "rpc ShouldRateLimit ( .envoy.service.ratelimit.v3.RateLimitRequest ) returns ( .envoy.service.ratelimit.v3.RateLimitResponse );",
    );
    expect((await grpcurl(address(), "describe", "envoy.service.ratelimit.v3.RateLimitRequest")).output).toContain(
      "repeated .envoy.extensions.common.ratelimit.v3.RateLimitDescriptor descriptors = 2;",
    );
    expect(
      (await grpcurl(address(), "describe", "envoy.service.ratelimit.v3.RateLimitRequest.domain")).output,
    ).toContain("string domain = 1;");
    expect(await grpcurl(address(), "describe", "envoy.Nothing")).toEqual({
      code: 1,
      output: 'Failed to resolve symbol "envoy.Nothing": Symbol not found: envoy.Nothing\n',
    });
  });

  it("grpcurl calls ShouldRateLimit and the health service without their .proto files", async () => {
    const request = '{"domain":"d","descriptors":[{"entries":[{"key":"k","value":"v"}]}]}';
    const limited = await grpcurl(
      "-d",
      request,
      address(),
      "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
    );
    expect(JSON.parse(limited.output)).toEqual({ overallCode: "OK", statuses: [{ code: "OK" }] });
    expect(opened.decider.calls[0]?.request).toMatchObject({
      domain: "d",
      descriptors: [{ entries: [{ key: "k", value: "v" }] }],
    });
    const health = await grpcurl(address(), "grpc.health.v1.Health/Check");
    expect(JSON.parse(health.output)).toEqual({ status: "SERVING" });
  });
});

describe("reflection streams", () => {
  /** A stream of one of the versions, what it answered, and the status that it ended with. */
  function open(version: "v1" | "v1alpha"): {
    stream: ClientDuplexStream<Buffer, Buffer>;
    answers: Buffer[];
    ended: Promise<number>;
  } {
    const asIs = (bytes: Buffer): Buffer => bytes;
    const stream = client(address()).makeBidiStreamRequest(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      asIs,
      asIs,
    );
    const answers: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => answers.push(bytes));
    const ended = new Promise<number>((resolve) => {
      stream.on("error", (error: GrpcError) => resolve(error.code));
      stream.on("status", ({ code }: { code: number }) => resolve(code));
    });
    return { stream, answers, ended };
  }

  function bytesOf(filename: string): Buffer {
    const request = create(ServerReflectionRequestSchema, {
      messageRequest: { case: "fileByFilename", value: filename },
    });
    return Buffer.from(toBinary(ServerReflectionRequestSchema, request));
  }

  it.each(["v1", "v1alpha"] as const)(
    "a stream of version %s answers each request in order and ends with the client",
    async (version) => {
      const { stream, answers, ended } = open(version);
      for (const name of ["a", "b", "c"]) stream.write(bytesOf(name));
      stream.end();
      expect(await ended).toBe(status.OK);
      const names = answers.map(
        (bytes) => fromBinary(ServerReflectionResponseSchema, bytes).originalRequest?.messageRequest.value,
      );
      expect(names).toEqual(["a", "b", "c"]);
    },
  );

  it("a stream that carries no request ends with INTERNAL, and the others continue", async () => {
    const bad = open("v1");
    bad.stream.write(Buffer.from([0x1a, 0x05, 0x41]));
    expect(await bad.ended).toBe(status.INTERNAL);
    const good = open("v1");
    good.stream.end(bytesOf("a"));
    expect(await good.ended).toBe(status.OK);
  });

  it("a stream that is open does not delay the end, and no new one begins then", async () => {
    const { stream, answers, ended } = open("v1");
    stream.write(bytesOf("a"));
    await expect.poll(() => answers.length, { timeout: 30_000 }).toBe(1);
    await opened.transport.drain();
    expect(await ended).toBe(status.UNAVAILABLE);
  });

  it("a stream beyond the maximum is refused until another ends", async () => {
    const streams = Array.from({ length: 100 }, () => open("v1"));
    for (const { stream } of streams) stream.write(bytesOf("a"));
    await expect.poll(() => streams.every(({ answers }) => answers.length === 1), { timeout: 30_000 }).toBe(true);
    const late = open("v1");
    expect(await late.ended).toBe(status.RESOURCE_EXHAUSTED);
    streams[0]?.stream.end();
    await streams[0]?.ended;
    const next = open("v1");
    next.stream.end(bytesOf("a"));
    expect(await next.ended).toBe(status.OK);
    for (const { stream } of streams) stream.cancel();
  });
});
