// A client of a Connection for tests: it writes frames by hand and reads the answers, without a
// socket and without time.
import { CLIENT_PREFACE } from "../frames/preface.ts";
import { Flag, FRAME_HEADER_BYTES, FrameType, readFrameLength, readUint31 } from "../frames/frame.ts";
import { Deadlines } from "../grpc/deadlines.ts";
import type {
  MessageEncoder,
  Methods,
  StreamingCall,
  StreamingMethod,
  Turn,
  TurnTask,
  UnaryCall,
  UnaryMethod,
} from "../grpc/method.ts";
import { FieldList } from "../hpack/field-list.ts";
import { HpackDecoder } from "../hpack/hpack-decoder.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { createCounters, type Http2Counters } from "../limits/counters.ts";
import { DEFAULT_LIMITS, type Http2Limits } from "../limits/limits.ts";
import { ChunkPool } from "../output/chunk-pool.ts";
import type { ByteSink } from "../output/output.ts";
import { settingsFrame } from "./client-frames.suite.ts";
import { Connection } from "./connection.ts";
import { hpackLimits } from "./connection-deps.ts";

/** One frame of the server. */
export interface ReceivedFrame {
  readonly type: string;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
  /** Header fields, of HEADERS. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The error code, of RST_STREAM and GOAWAY. */
  readonly code?: number;
}

/** A sink that records, and that takes bytes only when it is told to. */
class RecordingSink implements ByteSink {
  /** What was written, and not looked at. */
  written: Buffer[] = [];
  writes = 0;
  /** Whether writes are sent immediately. */
  isFast = true;
  pendingBytes = 0;
  isPaused = false;
  state: "open" | "ended" | "destroyed" = "open";
  preface: string | undefined;

  write(bytes: Buffer): boolean {
    if (this.state === "ended") throw new Error("The connection has written after its end");
    this.writes += 1;
    this.written.push(Buffer.from(bytes));
    if (!this.isFast) this.pendingBytes += bytes.length;
    return this.isFast;
  }

  unsentBytes(): number {
    return this.pendingBytes;
  }

  pauseReading(): void {
    this.isPaused = true;
  }

  resumeReading(): void {
    this.isPaused = false;
  }

  end(): void {
    this.state = "ended";
  }

  destroy(): void {
    this.state = "destroyed";
  }

  refused(preface: string): void {
    this.preface = preface;
  }
}

/** Encodes a Buffer as it is. */
export const BYTES: MessageEncoder<Buffer> = {
  maxBytes: (value) => value.length,
  encode: (value, target, offset) => offset + value.copy(target, offset),
};

/** Answers with the request. */
const ECHO: UnaryMethod = {
  kind: "unary",
  handle: (call, bytes, start, end) => call.reply(BYTES, bytes.subarray(start, end)),
};

/** The service "test.Service". */
class TestService {
  /** Unary calls of "Later" that wait for an answer. */
  readonly waiting: UnaryCall[] = [];
  /** Streaming calls of "Chat", and what their receivers were notified of. */
  readonly chats: StreamingCall[] = [];
  readonly events: string[] = [];
  /** Messages of "Chat" that were sent. */
  sentMessages = 0;
  /** Requests of "Later", and their headers. */
  readonly requests: string[] = [];
  readonly headers: Readonly<Record<string, string>>[] = [];

  readonly methods: Methods = new Map<string, UnaryMethod | StreamingMethod>([
    ["/test.Service/Echo", ECHO],
    ["/test.Service/Later", this.#later()],
    ["/test.Service/Chat", this.#chat()],
  ]);

  #later(): UnaryMethod {
    return {
      kind: "unary",
      handle: (call, bytes, start, end) => {
        this.waiting.push(call);
        this.requests.push(bytes.toString("latin1", start, end));
        this.headers.push(call.headers());
      },
    };
  }

  #chat(): StreamingMethod {
    return {
      kind: "streaming",
      open: (call) => {
        this.chats.push(call);
        return {
          message: (bytes, start, end) => void this.events.push(`message ${bytes.toString("latin1", start, end)}`),
          halfClosed: () => void this.events.push("half-closed"),
          sent: () => {
            this.sentMessages += 1;
          },
          cancelled: () => void this.events.push("cancelled"),
        };
      },
    };
  }
}

/** The client and the server's side of its connection. */
export class ByteClient {
  readonly service = new TestService();
  readonly sink = new RecordingSink();
  readonly counters: Http2Counters = createCounters();
  readonly budget: ByteBudget;
  readonly connection: Connection;
  nowMs = 1_000_000;
  /** What the clock of the system is ahead. */
  clockMs = 5_000_000;
  readonly #deadlines: Deadlines;
  readonly #decoder = new HpackDecoder({ tableMaxBytes: 4096, listMaxBytes: 65_536, tableUpdatesMax: 2 });
  readonly #fields = new FieldList({ tableMaxBytes: 4096, listMaxBytes: 65_536 });
  #tasks: TurnTask[] = [];

  constructor(limits: Partial<Http2Limits> = {}, maxAgeMs = Infinity) {
    const all = { ...DEFAULT_LIMITS, ...limits };
    const turn: Turn = {
      atTurnEnd: (task) => void this.#tasks.push(task),
      nowMs: () => this.nowMs + this.clockMs,
      monotonicMs: () => this.nowMs,
    };
    this.budget = new ByteBudget(all.processMaxBytes);
    this.#deadlines = new Deadlines(this.nowMs, () => {});
    const shared = { turn, limits: all, counters: this.counters, pool: new ChunkPool(), budget: this.budget };
    this.connection = new Connection(
      { ...shared, methods: this.service.methods, deadlines: this.#deadlines, fields: new FieldList(hpackLimits(all)) },
      this.sink,
      this.nowMs,
      maxAgeMs,
    );
  }

  /** Sends bytes in one read, and returns what the server answers in that turn. */
  send(...parts: readonly Buffer[]): readonly ReceivedFrame[] {
    this.connection.receive(Buffer.concat(parts));
    return this.turn();
  }

  /** Sends preface and SETTINGS, and drops the answer. */
  open(settings: readonly (readonly [number, number])[] = []): this {
    this.send(CLIENT_PREFACE, settingsFrame(settings));
    return this;
  }

  /** Ends the turn, and returns what was written since the last call. */
  turn(): readonly ReceivedFrame[] {
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) task.runAtTurnEnd();
    const bytes = Buffer.concat(this.sink.written);
    this.sink.written = [];
    return this.#parse(bytes);
  }

  /** Lets time pass in steps of a second, and returns what the server sends meanwhile. */
  wait(ms: number): readonly ReceivedFrame[] {
    const end = this.nowMs + ms;
    while (this.nowMs < end) {
      this.nowMs = Math.min(end, this.nowMs + 1000);
      this.#deadlines.advance(this.nowMs);
      this.connection.tick(this.nowMs);
    }
    return this.turn();
  }

  /** The sink sends what it holds. */
  drainSink(): readonly ReceivedFrame[] {
    this.sink.pendingBytes = 0;
    this.connection.sent();
    return this.turn();
  }

  #parse(bytes: Buffer): readonly ReceivedFrame[] {
    const frames: ReceivedFrame[] = [];
    for (let offset = 0; offset < bytes.length;) {
      const start = offset + FRAME_HEADER_BYTES;
      const end = start + readFrameLength(bytes, offset);
      frames.push(this.#frame(bytes, offset, start, end));
      offset = end;
    }
    return frames;
  }

  #frame(bytes: Buffer, offset: number, start: number, end: number): ReceivedFrame {
    const code = bytes[offset + 3];
    const type = Object.entries(FrameType).find(([, value]) => value === code)?.[0] ?? `type ${code}`;
    const frame = {
      type,
      flags: bytes[offset + 4] ?? 0,
      streamId: readUint31(bytes, offset + 5),
      payload: bytes.subarray(start, end),
    };
    if (type === "RST_STREAM") return { ...frame, code: bytes.readUInt32BE(start) };
    if (type === "GOAWAY") return { ...frame, code: bytes.readUInt32BE(start + 4) };
    return type === "HEADERS" ? { ...frame, fields: this.#decode(bytes, start, end) } : frame;
  }

  #decode(bytes: Buffer, start: number, end: number): Readonly<Record<string, string>> {
    const result = this.#decoder.decode(bytes, start, end, this.#fields);
    if (result !== "ok") throw new Error(`Cannot decode the headers of the server: ${this.#decoder.fault}`);
    return Object.fromEntries(
      Array.from({ length: this.#fields.count }, (_, index) => [this.#fields.name(index), this.#fields.value(index)]),
    );
  }
}

/** What the frames of the server mean: one line for each. */
export function summarize(frames: readonly ReceivedFrame[]): readonly string[] {
  return frames.map(({ type, flags, streamId, payload, fields, code }) => {
    const last = (flags & Flag.END_STREAM) !== 0 && (type === "DATA" || type === "HEADERS") ? " end" : "";
    switch (type) {
      case "HEADERS":
        return `HEADERS ${streamId}${last} ${describeFields(fields ?? {})}`;
      case "DATA":
        return `DATA ${streamId}${last} ${payload.length}`;
      case "RST_STREAM":
        return `RST_STREAM ${streamId} ${code ?? 0}`;
      case "GOAWAY":
        return `GOAWAY ${payload.readUInt32BE(0)} ${code ?? 0} ${payload.toString("latin1", 8)}`.trimEnd();
      case "WINDOW_UPDATE":
        return `WINDOW_UPDATE ${streamId} ${payload.readUInt32BE(0)}`;
      default:
        return `${type}${(flags & Flag.ACK) !== 0 ? " ack" : ""}`;
    }
  });
}

function describeFields(fields: Readonly<Record<string, string>>): string {
  const { ":status": status, "grpc-status": grpcStatus, "grpc-message": grpcMessage } = fields;
  const parts = [status, grpcStatus === undefined ? undefined : `grpc-status ${grpcStatus}`, grpcMessage];
  return parts.filter((part) => part !== undefined).join(" ");
}
