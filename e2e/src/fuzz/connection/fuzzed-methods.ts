// The methods of a fuzzed connection: they answer immediately, later, never, at length or with a
// failure, and look at what they are given.
import type { MessageEncoder, Methods, StreamingCall, UnaryCall } from "@weir/http2/grpc/method";

import type { Random } from "@weir/harness/processes/random";

const NOT_FOUND = 5;

/** Most answers of a streaming call per turn. */
const SENDS_MAX = 3;

/** A path without a method. */
export const UNKNOWN_PATH = "/fuzz.Service/Unknown";

/** The method that Envoy calls. */
const SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** Paths of the methods, and that one. */
export const PATHS = [
  "/fuzz.Service/Echo",
  "/fuzz.Service/Later",
  "/fuzz.Service/Fail",
  "/fuzz.Service/Large",
  "/fuzz.Service/Chat",
  SHOULD_RATE_LIMIT,
  UNKNOWN_PATH,
] as const;

const BYTES: MessageEncoder<Buffer> = {
  maxBytes: (value) => value.length,
  encode: (value, target, offset) => offset + value.copy(target, offset),
};

/** The methods of one connection. */
export class FuzzedMethods {
  readonly methods: Methods;
  readonly #random: Random;
  readonly #waiting: UnaryCall[] = [];
  readonly #chats = new Set<StreamingCall>();

  constructor(random: Random) {
    this.#random = random;
    this.methods = new Map<string, ReturnType<Methods["get"]> & object>([
      [PATHS[0], { kind: "unary", handle: (call, bytes, start, end) => this.#echo(call, bytes, start, end) }],
      [PATHS[1], { kind: "unary", handle: (call) => void this.#waiting.push(call) }],
      [PATHS[2], { kind: "unary", handle: (call) => call.fail(NOT_FOUND, "not found: ä\n") }],
      [PATHS[3], { kind: "unary", handle: (call) => call.reply(BYTES, Buffer.alloc(random.below(60_000))) }],
      [SHOULD_RATE_LIMIT, { kind: "unary", handle: (call) => call.reply(BYTES, Buffer.alloc(0)) }],
      [PATHS[4], { kind: "streaming", open: (call) => this.#chat(call) }],
    ]);
  }

  /** Answers some of the calls that wait. */
  answerSome(): void {
    while (this.#waiting.length > 0 && !this.#random.oneIn(3)) this.#answerOne();
    for (const call of this.#chats) {
      for (let sends = this.#random.below(SENDS_MAX); sends > 0; sends--)
        call.send(BYTES, Buffer.alloc(this.#random.below(3000)));
      if (this.#random.oneIn(4)) this.#end(call);
    }
  }

  /** Answers every call. */
  answerAll(): void {
    while (this.#waiting.length > 0) this.#answerOne();
    for (const call of this.#chats) this.#end(call);
  }

  #echo(call: UnaryCall, bytes: Buffer, start: number, end: number): void {
    if (this.#random.oneIn(2) && call.headers()["content-type"] === undefined)
      throw new Error("A call has no content-type");
    call.reply(BYTES, bytes.subarray(start, end));
  }

  #answerOne(): void {
    const [call] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1);
    if (this.#random.oneIn(3)) call?.fail(this.#random.below(17), "later");
    else call?.reply(BYTES, Buffer.alloc(this.#random.below(200)));
  }

  #chat(call: StreamingCall): ReturnType<Extract<ReturnType<Methods["get"]>, { kind: "streaming" }>["open"]> {
    if (call.headers()["content-type"] === undefined) throw new Error("A call has no content-type");
    this.#chats.add(call);
    return {
      message: (bytes, start, end) => void call.send(BYTES, bytes.subarray(start, end)),
      sent: () => {
        if (this.#random.oneIn(3)) call.send(BYTES, Buffer.alloc(this.#random.below(300)));
      },
      halfClosed: () => this.#end(call),
      cancelled: () => void this.#chats.delete(call),
    };
  }

  #end(call: StreamingCall): void {
    if (this.#chats.delete(call)) call.end(this.#random.below(17), "the end");
  }
}

/** Name and value of a header field. */
export type Field = readonly [name: string, value: string];

/** The header block of a gRPC request, with these fields instead of its own or in addition. */
export function requestBlock(fields: readonly Field[]): Buffer {
  const all = new Map<string, string>([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", PATHS[0]],
    [":authority", "fuzz"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...fields,
  ]);
  return Buffer.concat([...all].map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])));
}

/** A string of HPACK, of at most 126 octets (RFC 7541, 5.2). */
export function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1").subarray(0, 126);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}
