// The service of tests: methods that show what a connection can do, answered by themselves or by the test.
import type { MessageEncoder, Methods, StreamingCall, StreamingMethod, UnaryCall, UnaryMethod } from "./method.ts";

/** Encodes a Buffer as it is. */
export const BYTES: MessageEncoder<Buffer> = {
  maxBytes: (value) => value.length,
  encode: (value, target, offset) => offset + value.copy(target, offset),
};

/** The method that Envoy calls. */
const SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

const NOT_FOUND = 5;
const LARGE = Buffer.alloc(30_000);

/** The service. */
export class TestService {
  /** Unary calls of "Later" that wait for an answer. */
  readonly waiting: UnaryCall[] = [];
  /** Streaming calls of "Chat", and what the receivers of it and "Watch" were notified of. */
  readonly chats: StreamingCall[] = [];
  readonly events: string[] = [];
  /** Streams of "Chat" that are closed. */
  closed = 0;
  /** Requests of "Later", and the headers of it and "Chat". */
  readonly requests: string[] = [];
  readonly headers: Readonly<Record<string, string>>[] = [];
  /** Runs when a message of "Chat" is sent. */
  onSent: (call: StreamingCall) => void = () => undefined;
  readonly methods: Methods;

  /** `prefix` is the path of its methods up to their names. */
  constructor(prefix = "/test.Service/") {
    this.methods = new Map<string, UnaryMethod | StreamingMethod>([
      [`${prefix}Echo`, unary((call, message) => call.reply(BYTES, message))],
      [`${prefix}Headers`, unary((call) => call.reply(BYTES, Buffer.from(JSON.stringify(call.headers()))))],
      [`${prefix}Later`, unary((call, message) => this.#later(call, message))],
      [`${prefix}Fail`, unary((call) => call.fail(NOT_FOUND, "not found: ä\n"))],
      [`${prefix}Large`, unary((call) => call.reply(BYTES, LARGE))],
      [SHOULD_RATE_LIMIT, unary((call) => call.reply(BYTES, Buffer.alloc(0)))],
      [`${prefix}Chat`, { kind: "streaming", open: (call) => this.#chat(call) }],
      [`${prefix}Watch`, { kind: "streaming", open: (call) => this.#watch(call) }],
    ]);
  }

  #later(call: UnaryCall, message: Buffer): void {
    this.waiting.push(call);
    this.requests.push(message.toString("latin1"));
    this.headers.push(call.headers());
  }

  /** A stream on which the test answers. */
  #chat(call: StreamingCall): ReturnType<StreamingMethod["open"]> {
    this.chats.push(call);
    this.headers.push(call.headers());
    return {
      message: (bytes, start, end) => void this.events.push(`message ${bytes.toString("latin1", start, end)}`),
      halfClosed: () => void this.events.push("half-closed"),
      sent: () => this.onSent(call),
      cancelled: () => void this.events.push("cancelled"),
      closed: () => void (this.closed += 1),
    };
  }

  /** A stream that answers each message with itself. */
  #watch(call: StreamingCall): ReturnType<StreamingMethod["open"]> {
    return {
      message: (bytes, start, end) => void call.send(BYTES, Buffer.from(bytes.subarray(start, end))),
      halfClosed: () => call.end(0, ""),
      sent: () => undefined,
      cancelled: () => void this.events.push("cancelled"),
    };
  }
}

function unary(answer: (call: UnaryCall, message: Buffer) => void): UnaryMethod {
  return { kind: "unary", handle: (call, bytes, start, end) => answer(call, bytes.subarray(start, end)) };
}
