// The streaming methods and clients that do not read, or do not keep to the protocol.
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { HealthCheckRequestSchema, HealthCheckResponseSchema } from "@weir/proto/generated/grpc/health/v1/health_pb";
import {
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "@weir/proto/generated/grpc/reflection/v1/reflection_pb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { openTransport, type OpenedTransport, WAIT } from "./opened-transport.suite.ts";

const PREFIX_BYTES = 5;

const WATCH = "/grpc.health.v1.Health/Watch";
const CHECK = "/grpc.health.v1.Health/Check";
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

let opened: OpenedTransport;
let session: ClientHttp2Session | undefined;

beforeEach(async () => {
  opened = await openTransport();
});

afterEach(async () => {
  session?.destroy();
  session = undefined;
  await opened.transport.stop();
});

/** A call whose client allows so many bytes of answers. */
interface OpenCall {
  readonly stream: ClientHttp2Stream;
  /** The messages so far. */
  readonly messages: () => readonly Buffer[];
  /** The status and its text, once the call has ended. */
  readonly ended: Promise<string>;
}

function open(path: string, initialWindowSize = 65_535): OpenCall {
  session = connect(`http://${opened.target}`, { settings: { initialWindowSize } });
  const stream = session.request(headersOf(path));
  const received: Buffer[] = [];
  stream.on("data", (bytes: Buffer) => received.push(bytes));
  const { promise, resolve } = Promise.withResolvers<string>();
  const end = (headers: IncomingHttpHeaders): void => {
    const { "grpc-status": status, "grpc-message": text = "" } = headers;
    if (typeof status === "string") resolve(`${status} ${decodeURIComponent(String(text))}`.trimEnd());
  };
  stream.on("response", end);
  stream.on("trailers", end);
  stream.on("error", (error) => resolve(String(error)));
  return { stream, messages: () => split(Buffer.concat(received)), ended: promise };
}

function headersOf(path: string): OutgoingHttpHeaders {
  return { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
}

function split(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  let at = 0;
  while (at + PREFIX_BYTES <= bytes.length) {
    const end = at + PREFIX_BYTES + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    messages.push(bytes.subarray(at + PREFIX_BYTES, end));
    at = end;
  }
  return messages;
}

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function watchRequest(service: string): Buffer {
  return framed(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })));
}

function fileRequest(filename: string): Buffer {
  const messageRequest = { case: "fileByFilename", value: filename } as const;
  return framed(toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, { messageRequest })));
}

/** Lets the client take everything from now on. */
async function openWindow(): Promise<void> {
  await new Promise<void>((resolve) => session?.settings({ initialWindowSize: 1_000_000 }, () => resolve()));
}

describe("Watch of GrpcTransport", () => {
  it("a client that did not read gets the first status and the newest one", async () => {
    const { stream, messages } = open(WATCH, 0);
    stream.write(watchRequest("ratelimit"));
    await once(stream, "response"); // Its first status waits behind that.
    opened.health.set("start", true);
    opened.health.set("signal", false);
    opened.health.set("signal", true);
    await openWindow();
    const statuses = (): number[] => messages().map((bytes) => fromBinary(HealthCheckResponseSchema, bytes).status);
    await expect.poll(statuses, WAIT).toEqual([2, 1]);
    opened.health.set("signal", false);
    await expect.poll(statuses, WAIT).toEqual([2, 1, 2]);
  });

  it.each([
    ["two requests", [watchRequest(""), watchRequest("")], "13 Watch has one request"],
    ["no request", [], "13 Watch has one request"],
    [
      "bytes that are no request",
      [framed(Buffer.from([0x0a, 0x05, 0x41]))],
      "13 Error deserializing request: premature EOF",
    ],
  ])("a stream with %s ends with INTERNAL", async (_what, requests, status) => {
    const { stream, ended } = open(WATCH);
    for (const request of requests) stream.write(request);
    stream.end();
    expect(await ended).toBe(status);
  });

  it("watches of clients that have gone make room for others", async () => {
    const sessions = [0, 1].map(() => connect(`http://${opened.target}`));
    for (const each of sessions) {
      const streams = Array.from({ length: 500 }, () => each.request(headersOf(WATCH)));
      for (const stream of streams) {
        stream.on("error", () => undefined); // The session is destroyed below.
        stream.end(watchRequest(""));
      }
      await Promise.all(streams.map((stream) => once(stream, "data")));
    }
    const refused = open(WATCH);
    refused.stream.end(watchRequest(""));
    expect(await refused.ended).toBe("8 too many watches, the maximum is 1000");
    session?.destroy();
    sessions[0]?.destroy();
    const isWatched = async (): Promise<boolean> => {
      const { stream, messages, ended } = open(WATCH);
      stream.end(watchRequest(""));
      await Promise.race([once(stream, "data"), ended]);
      return messages().length === 1;
    };
    await expect.poll(isWatched, WAIT).toBe(true);
    sessions[1]?.destroy();
  });
});

describe("Check of GrpcTransport", () => {
  it("bytes that are no request are answered INTERNAL", async () => {
    const { stream, ended } = open(CHECK);
    stream.end(framed(Buffer.from([0x0a, 0x05, 0x41])));
    expect(await ended).toBe("13 Error deserializing request: premature EOF");
  });
});

describe("reflection of GrpcTransport", () => {
  it("answers wait for a client that reads slowly, in the order of the requests", async () => {
    const { stream, messages, ended } = open(REFLECTION, 10);
    const names = ["a", "envoy/service/ratelimit/v3/rls.proto", "b", "envoy/service/ratelimit/v3/rls.proto", "c"];
    for (const name of names) stream.write(fileRequest(name));
    stream.end();
    await once(stream, "response");
    await openWindow();
    expect(await ended).toBe("0");
    expect(
      messages().map(
        (bytes) => fromBinary(ServerReflectionResponseSchema, bytes).originalRequest?.messageRequest.value,
      ),
    ).toEqual(names);
  });

  it.each([
    ["too many requests", () => Array.from({ length: 40 }, () => fileRequest("a")), "8 too many requests are waiting"],
    ["a request that is too long", () => [fileRequest("a".repeat(20_000))], "8 the request is too long"],
  ])("a stream with %s ends with RESOURCE_EXHAUSTED", async (_what, requests, status) => {
    const { stream, ended } = open(REFLECTION, 10);
    for (const request of requests()) stream.write(request);
    await once(stream, "response");
    await openWindow();
    expect(await ended).toBe(status);
  });
});
