// A client of a Connection for tests: it sends bytes and reads the answers, without a socket and
// without time.
import { PREFACE, settingsFrame } from "@weir/harness/http2/http2-frames";
import { Deadlines } from "../grpc/deadlines.ts";
import type { TurnTask } from "../grpc/method.ts";
import { TestService } from "../grpc/test-service.suite.ts";
import { FieldList } from "../hpack/field-list.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { createCounters } from "../limits/counters.ts";
import { DEFAULT_LIMITS, type Http2Limits } from "../limits/limits.ts";
import { ChunkPool } from "../output/chunk-pool.ts";
import type { ByteSink } from "../output/output.ts";
import { hpackLimits } from "./connection-deps.ts";
import { Connection } from "./connection.ts";
import { type ReceivedFrame, ServerReader } from "./received-frames.suite.ts";

/** Memory that all connections share, as in a server: chunks, and scratch space by its limit. */
const POOL = new ChunkPool(256);
const FIELDS = new Map<number, FieldList>();

/** A sink that records, and that takes bytes only when it is told to. */
class RecordingSink implements ByteSink {
  /** The bytes that were written, and not looked at. */
  written: Buffer[] = [];
  writes = 0;
  /** True if writes are sent immediately. */
  isFast = true;
  pendingBytes = 0;
  isPaused = false;
  state: "open" | "ended" | "destroyed" = "open";
  preface: string | undefined;

  write(bytes: Buffer): boolean {
    if (this.state === "ended") throw new Error("The server writes after the end");
    if (this.state === "destroyed") return true; // As a socket that is gone: dropped.
    this.writes += 1;
    this.written.push(Buffer.from(bytes));
    if (!this.isFast) this.pendingBytes += bytes.length;
    return this.pendingBytes === 0;
  }

  writeAll(buffers: readonly Buffer[]): boolean {
    return this.write(Buffer.concat(buffers));
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

/** The client and the server's side of its connection. */
export class ByteClient {
  readonly service: TestService;
  readonly sink = new RecordingSink();
  readonly counters = createCounters();
  readonly limits: Http2Limits;
  readonly budget: ByteBudget;
  readonly connection: Connection;
  nowMs = 1_000_000;
  readonly deadlines = new Deadlines(this.nowMs, () => undefined);
  readonly reader = new ServerReader();
  readonly #tasks: TurnTask[] = [];

  constructor(limits: Partial<Http2Limits> = {}, maxAgeMs = Infinity, service = new TestService()) {
    this.service = service;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.budget = new ByteBudget(this.limits.processMaxBytes);
    const turn = { atTurnEnd: (task: TurnTask) => void this.#tasks.push(task), monotonicMs: () => this.nowMs };
    const { counters, budget, deadlines } = this;
    const shared = { turn, limits: this.limits, counters, budget, deadlines, pool: POOL, methods: service.methods };
    const bounds = hpackLimits(this.limits);
    const fields = FIELDS.getOrInsertComputed(bounds.listMaxBytes, () => new FieldList(bounds));
    this.connection = new Connection({ ...shared, fields }, this.sink, this.nowMs, maxAgeMs);
  }

  /** Sends bytes in one read, and returns what the server answers in that turn. */
  send(...parts: readonly Buffer[]): readonly ReceivedFrame[] {
    this.receive(Buffer.concat(parts));
    return this.turn();
  }

  /** Sends bytes in one read, without ending the turn. */
  receive(bytes: Buffer): void {
    const read = Buffer.from(bytes);
    this.connection.receive(read);
    read.fill(0xee); // The memory of a read is used again.
  }

  /** Sends preface and SETTINGS, and drops the answer. */
  open(...settings: readonly (readonly [identifier: number, value: number])[]): this {
    this.send(PREFACE, settingsFrame(...settings));
    return this;
  }

  /** Ends the turn, and returns what was written since the last call. */
  turn(): readonly ReceivedFrame[] {
    while (this.#tasks.length > 0) for (const task of this.#tasks.splice(0)) task.runAtTurnEnd();
    const bytes = Buffer.concat(this.sink.written);
    this.sink.written = [];
    const frames = this.reader.read(bytes);
    if (this.reader.restBytes !== 0) throw new Error("The server sends a part of a frame");
    return frames;
  }

  /** Lets time pass in steps of a second, and returns what the server sends meanwhile. */
  wait(ms: number): readonly ReceivedFrame[] {
    const end = this.nowMs + ms;
    while (this.nowMs < end) {
      this.nowMs = Math.min(end, this.nowMs + 1000);
      this.deadlines.advance(this.nowMs);
      if (this.sink.state !== "destroyed") this.connection.tick(this.nowMs);
    }
    return this.turn();
  }

  /** The sink sends what it holds. */
  drainSink(): readonly ReceivedFrame[] {
    this.sink.pendingBytes = 0;
    this.connection.sent();
    return this.turn();
  }
}
