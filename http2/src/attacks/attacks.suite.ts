// The known attacks on HTTP/2 servers, as bytes. Each is sent as fast as the server takes it, on new
// connections when the server closes one.
import {
  FLAG,
  FRAME,
  frame,
  grpcMessage,
  hpackInteger,
  lastData,
  literalBlock,
  openCall,
  openingBytes,
  PREFACE,
  requestBlock,
  resetFrame,
  SETTING,
  settingsFrame,
  wholeCall,
  windowUpdate,
} from "@weir/harness/http2/http2-frames";

export interface Attack {
  readonly name: string;
  /** The last frame that one connection gets, without its stream, and whether it is closed without GOAWAY. */
  readonly expected: string;
  /** Connections at a time. */
  readonly connections: number;
  /** True if the attacker reads what comes back. */
  readonly reads: boolean;
  /** The bytes that every connection begins with. */
  readonly opening: Buffer;
  /**
   * The bytes that follow, `number` times: it counts from 0 on each connection. Undefined = the
   * connection is silent from then on.
   */
  next(number: number): Buffer | undefined;
}

/** Frames that are written in one piece. */
const BATCH = 256;

/** Highest number of a batch of calls: later stream identifiers would not fit. */
const BATCHES_MAX = Math.floor(2 ** 30 / BATCH) - 1;

/** Bytes of a DATA frame that every peer takes (RFC 9113, section 4.2). */
const FRAME_MAX_BYTES = 16_384;

const PATH = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** A request of the domain "attacks", whose one entry is key "user", value "mallory". */
const MESSAGE = Buffer.from("\n\x07attacks\x12\x11\n\x0f\n\x04user\x12\x07mallory", "latin1");

const BLOCK = requestBlock(PATH);
const OPEN = openingBytes();
const PING = frame(FRAME.PING, 0, 0, Buffer.alloc(8));

/** A header field as large as the table of the server, to be named again and again by one byte. */
const LARGE_FIELD = Buffer.concat([Buffer.from("\x40\x01x"), hpackInteger(0, 7, 3900), Buffer.alloc(3900, "a")]);

/** The beginning of a message that announces 4 MiB. */
const PARTIAL = Buffer.concat([Buffer.from([0, 0, 0x3f, 0xff, 0xff]), Buffer.alloc(FRAME_MAX_BYTES - 5)]);

const call = (id: number): Buffer => wholeCall(id, PATH, MESSAGE);

/** Results that several attacks have. */
const ANSWER = "HEADERS end grpc-status 0";
const TOO_MANY_FRAMES = "GOAWAY 11 Too many control frames";
const TOO_MANY_FAULTS = "GOAWAY 11 Too many faulty streams";
const TOO_LONG = "GOAWAY 11 A header block is too long";

/** The attacks, those of the CVEs named by them first. */
export const ATTACKS: readonly Attack[] = [
  // CVE-2023-44487: the calls begin and are reset before their answers.
  calls("rapid reset", ANSWER, (id) => [call(id), resetFrame(id)]),
  calls("rapid reset, before the message", "GOAWAY 11 Too many resets", (id) => [openCall(id, PATH), resetFrame(id)]),
  // CVE-2025-8671: the server is made to reset the streams itself.
  calls("made you reset, by empty window updates", TOO_MANY_FAULTS, (id) => [openCall(id, PATH), windowUpdate(0, id)]),
  calls("made you reset, by DATA after the end of the stream", "GOAWAY 5 Stream 1 has ended", (id) => [
    call(id),
    lastData(id, grpcMessage(MESSAGE)),
  ]),
  calls("made you reset, by a wrong content-length", TOO_MANY_FAULTS, (id) => [
    wholeCall(id, PATH, MESSAGE, { "content-length": "1" }),
  ]),
  // CVE-2024-27316 and others: a header block without an end.
  again(
    "CONTINUATION flood",
    TOO_LONG,
    frame(FRAME.CONTINUATION, 0, 1, literalBlock([["x-filler", "a".repeat(100)]])),
    {
      opening: Buffer.concat([OPEN, frame(FRAME.HEADERS, 0, 1, BLOCK)]),
    },
  ),
  again("empty CONTINUATION flood", TOO_LONG, frame(FRAME.CONTINUATION, 0, 1), {
    opening: Buffer.concat([OPEN, frame(FRAME.HEADERS, 0, 1, BLOCK)]),
  }),
  // CVE-2016-6581: one byte names a field of 4 KiB, thousands of times in a block.
  calls("HPACK bomb", TOO_MANY_FAULTS, (id) => [
    frame(
      FRAME.HEADERS,
      FLAG.END_HEADERS | FLAG.END_STREAM,
      id,
      Buffer.concat([BLOCK, LARGE_FIELD, Buffer.alloc(4000, 0xbe)]),
    ),
  ]),
  calls("table size updates", "GOAWAY 9 too many changes of the table's size", (id) => [
    frame(FRAME.HEADERS, FLAG.END_HEADERS, id, Buffer.concat([Buffer.alloc(8000, 0x20), BLOCK])),
  ]),
  // CVE-2019-9512, 9515, 9517, 9518 and relatives: frames that cost the server more than the attacker.
  again("PING flood", TOO_MANY_FRAMES, PING),
  again("PING flood, answers not read", TOO_MANY_FRAMES, PING, { reads: false }),
  again("SETTINGS flood", TOO_MANY_FRAMES, settingsFrame([SETTING.initialWindow, 65_536])),
  again("empty SETTINGS flood, answers not read", TOO_MANY_FRAMES, settingsFrame(), { reads: false }),
  again("PRIORITY flood", TOO_MANY_FRAMES, frame(FRAME.PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 16]))),
  again("WINDOW_UPDATE flood", TOO_MANY_FRAMES, windowUpdate(1), { opening: openingBytes(65_535) }),
  again("empty DATA flood", TOO_MANY_FRAMES, frame(FRAME.DATA, 0, 1), {
    opening: Buffer.concat([OPEN, openCall(1, PATH)]),
  }),
  again("unknown frames", TOO_MANY_FRAMES, frame(0xbb, 0, 0, Buffer.alloc(16))),
  // Memory that waits for the attacker.
  calls("correct calls as fast as possible", ANSWER, (id) => [call(id)], { connections: 2 }),
  calls("slow readers", "HEADERS end grpc-status 0, closed", (id) => [call(id)], { connections: 50, reads: false }),
  calls("zero windows", TOO_MANY_FRAMES, (id) => [call(id)], {
    connections: 10,
    opening: Buffer.concat([PREFACE, settingsFrame([SETTING.initialWindow, 0])]),
  }),
  // Under a long name that the answer may repeat.
  calls(
    "refused calls of a slow reader",
    "HEADERS end 200 grpc-status 12, closed",
    (id) => [wholeCall(id, `/${"x".repeat(100)}/y`, MESSAGE)],
    {
      connections: 10,
      reads: false,
    },
  ),
  calls("calls that stay open", TOO_MANY_FRAMES, (id) => [openCall(id, PATH)]),
  calls("messages without an end", "RST_STREAM 8", (id) => [openCall(id, PATH), frame(FRAME.DATA, 0, id, PARTIAL)], {
    connections: 50,
  }),
  {
    ...again("connections without a preface", "closed", PING),
    connections: 500,
    opening: Buffer.alloc(0),
    next: () => undefined,
  },
  {
    ...again("half a frame header", "SETTINGS ack, closed", PING),
    connections: 500,
    opening: Buffer.concat([OPEN, Buffer.from([0, 0, 1])]),
    next: () => undefined,
  },
];

/** New calls, or parts of calls, one after the other. */
function calls(
  name: string,
  expected: string,
  framesOf: (streamId: number) => readonly Buffer[],
  options: Partial<Attack> = {},
): Attack {
  const next = (number: number): Buffer | undefined => {
    if (number > BATCHES_MAX) return undefined;
    return Buffer.concat(
      Array.from({ length: BATCH }, (_, index) => framesOf(2 * (number * BATCH + index) + 1)).flat(),
    );
  };
  return { name, expected, connections: 4, reads: true, opening: OPEN, next, ...options };
}

/** The same frame again and again. */
function again(name: string, expected: string, bytes: Buffer, options: Partial<Attack> = {}): Attack {
  const batch = Buffer.concat(Array.from({ length: BATCH }, () => bytes));
  return { ...calls(name, expected, () => [], options), next: () => batch };
}
