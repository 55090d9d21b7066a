// Inputs for listeners that speak gRPC over HTTP/2: random bytes, broken frames and header blocks
// inside a session, and broken messages inside good frames.
import { create, toBinary } from "@bufbuild/protobuf";
import { RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import {
  createFrameReader,
  FLAG,
  FRAME,
  frame,
  grpcMessage,
  literalBlock,
  openingBytes,
} from "@weir/harness/http2/http2-frames";
import { mutate } from "./mutation.ts";
import type { Random } from "@weir/harness/processes/random";

/** Frame types that broken input is made of (RFC 9113, section 6); the last is not defined. */
const FRAME_TYPES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xbb] as const;

const SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** Methods, known and unknown. */
const PATHS = [
  SHOULD_RATE_LIMIT,
  SHOULD_RATE_LIMIT,
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
  "/grpc.health.v1.Health/List",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
  "/x",
  "*",
  "",
] as const;

/** Name and value. */
type Field = readonly [string, string];

/** Header fields that mean something to a gRPC server, in good and in bad forms. */
const FIELDS: readonly [Field, ...Field[]] = [
  ["grpc-timeout", "1S"],
  ["grpc-timeout", "0n"],
  ["grpc-timeout", "99999999999H"],
  ["grpc-timeout", "-1x"],
  ["grpc-encoding", "gzip"],
  ["grpc-encoding", "deflate"],
  ["grpc-encoding", "snappy"],
  ["grpc-accept-encoding", "gzip, ,x"],
  ["content-type", "text/plain"],
  ["content-length", "-5"],
  ["content-length", "3"],
  ["te", "gzip"],
  ["connection", "close"],
  ["x-bin", "%%%"],
  ["trace-bin", "AAA"],
  ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  ["b3", "x"],
  ["cookie", "a=b; c"],
  ["UPPER", "case"],
  ["", "empty"],
  [":status", "200"],
  [":path", "/again"],
  ["user-agent", "\u0000\r\n"],
];

/** A good request. */
const REQUEST = Buffer.from(
  toBinary(
    RateLimitRequestSchema,
    create(RateLimitRequestSchema, {
      domain: "fuzz",
      hitsAddend: 3,
      descriptors: [
        { entries: [{ key: "user", value: "ada" }] },
        {
          entries: [
            { key: "path", value: "/x" },
            { key: "user", value: "" },
          ],
          limit: { requestsPerUnit: 5, unit: 2 },
          hitsAddend: 2n,
        },
      ],
    }),
  ),
);

/** The frame that a server answers when it has read all before it. */
export function ping(number: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(number, 4);
  return frame(FRAME.PING, 0, 0, payload);
}

/**
 * Reads the bytes of a server and calls `onPong` with the number of each ping that it has answered.
 */
export function createPongReader(onPong: (number: number) => void): (chunk: Buffer) => void {
  return createFrameReader((type, flags, _streamId, payload) => {
    if (type === FRAME.PING && (flags & FLAG.ACK) !== 0) onPong(payload.readUInt32BE(4));
  });
}

/** A good call, as what an input is made of, or as proof that the server still answers. */
export function goodCall(streamId: number): Buffer {
  return callWith(streamId, headerBlock(SHOULD_RATE_LIMIT, []), grpcMessage(REQUEST));
}

/** A call that is well-formed up to its message. */
export function brokenMessage(random: Random, streamId: number): Buffer {
  const changed = random.oneIn(10)
    ? random.bytes(random.between(0, 200))
    : mutate(random, REQUEST, random.between(1, 6));
  const path = random.oneIn(8) ? random.pick(PATHS) : SHOULD_RATE_LIMIT;
  return callWith(
    streamId,
    headerBlock(path, []),
    random.oneIn(10) ? mutate(random, grpcMessage(changed), 1) : grpcMessage(changed),
  );
}

/** Frames with errors: in header fields, header block, frame header, order or payload. */
export function brokenFrames(random: Random, streamId: number): Buffer {
  switch (random.below(6)) {
    case 0:
      return mutate(random, goodCall(streamId), random.between(1, 4));
    case 1:
      return anyFrame(random, streamId);
    case 2:
      return callWith(
        streamId,
        mutate(random, headerBlock(random.pick(PATHS), []), random.between(1, 3)),
        grpcMessage(REQUEST),
      );
    case 3:
      return Buffer.concat([goodCall(streamId), anyFrame(random, streamId)]);
    case 4: // The message in pieces, with something in between.
      return Buffer.concat([
        frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, headerBlock(SHOULD_RATE_LIMIT, [])),
        frame(FRAME.DATA, 0, streamId, grpcMessage(REQUEST).subarray(0, random.between(0, 20))),
        random.oneIn(2)
          ? anyFrame(random, streamId)
          : frame(FRAME.RST_STREAM, 0, streamId, Buffer.from([0, 0, 0, random.below(14)])),
      ]);
    default: {
      const fields = Array.from({ length: random.between(1, 4) }, () => random.pick(FIELDS));
      const compressed = random.oneIn(2)
        ? Buffer.concat([Buffer.from([1]), grpcMessage(random.bytes(30)).subarray(1)])
        : grpcMessage(REQUEST);
      return callWith(streamId, headerBlock(random.pick(PATHS), fields), compressed);
    }
  }
}

/** Bytes that begin no session. */
export function noSession(random: Random): Buffer {
  switch (random.below(4)) {
    case 0:
      return random.bytes(random.between(1, 400));
    case 1:
      return mutate(random, openingBytes(), random.between(1, 3));
    case 2:
      return Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "latin1");
    default: // What a TLS client would say.
      return Buffer.concat([Buffer.from([0x16, 0x03, 0x01, 0x00, 0x50, 0x01]), random.bytes(random.between(10, 120))]);
  }
}

function anyFrame(random: Random, streamId: number): Buffer {
  const type = random.oneIn(10) ? random.below(256) : random.pick(FRAME_TYPES);
  const target = random.pick([0, streamId, streamId, 2, Math.max(1, streamId - 2), 0x7fffffff]);
  const length = random.pick([0, 4, 5, 6, 8, random.below(100)]);
  const bytes = frame(type, random.below(256), target, random.bytes(length));
  if (random.oneIn(10)) bytes.writeUIntBE(random.oneIn(2) ? random.below(200) : 0xffffff, 0, 3); // A length that is not so.
  return bytes;
}

function callWith(streamId: number, block: Buffer, data: Buffer): Buffer {
  return Buffer.concat([
    frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, block),
    frame(FRAME.DATA, FLAG.END_STREAM, streamId, data),
  ]);
}

/** :method POST and :scheme http from the static table, then literals. */
function headerBlock(path: string, fields: readonly Field[]): Buffer {
  const all = [
    [":path", path],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...fields,
  ] as const;
  return Buffer.concat([Buffer.from([0x83, 0x86]), literalBlock(all)]);
}
