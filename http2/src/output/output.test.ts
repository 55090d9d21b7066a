// Tests of the output of a connection.
import { describe, expect, it } from "vitest";

import type { TurnTask } from "../grpc/method.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { createCounters } from "../limits/counters.ts";
import { CHUNK_BYTES, ChunkPool } from "./chunk-pool.ts";
import { Output } from "./output.ts";
import { ReadGate } from "./read-gate.ts";

function createOutput(unsentMaxBytes = 100_000) {
  const sink = {
    writes: [] as number[],
    isFast: true,
    pendingBytes: 0,
    isPaused: false,
    write: (bytes: Buffer) => {
      sink.writes.push(bytes.length);
      if (!sink.isFast) sink.pendingBytes += bytes.length;
      return sink.isFast;
    },
    writeAll: (buffers: readonly Buffer[]) => sink.write(Buffer.concat(buffers)),
    unsentBytes: () => sink.pendingBytes,
    pauseReading: () => void (sink.isPaused = true),
    resumeReading: () => void (sink.isPaused = false),
    end: () => {},
    destroy: () => {},
    refused: () => {},
  };
  const scheduled: TurnTask[] = [];
  const task: TurnTask = { runAtTurnEnd: () => output.runAtTurnEnd() };
  const pool = new ChunkPool(256);
  const budget = new ByteBudget(1_000_000);
  const turn = { atTurnEnd: (next: TurnTask) => void scheduled.push(next), monotonicMs: () => 0 };
  const deps = { sink, gate: new ReadGate(sink), counters: createCounters() };
  const output: Output = new Output({ ...deps, pool, budget, turn, task }, unsentMaxBytes);
  const write = (bytes: number) => {
    output.position = output.reserve(bytes) + bytes;
  };
  const endTurn = () => {
    for (const next of scheduled.splice(0)) next.runAtTurnEnd();
  };
  return { output, sink, pool, budget, scheduled, write, endTurn };
}

describe("Output", () => {
  it("writes once at the end of a turn in which something was written", () => {
    const { sink, scheduled, write, endTurn } = createOutput();
    for (let index = 0; index < 100; index++) write(50);
    expect(scheduled).toHaveLength(1);
    expect(sink.writes).toEqual([]);
    endTurn();
    expect(sink.writes).toEqual([5000]);
    endTurn();
    expect(sink.writes).toEqual([5000]);
  });

  it("writes four chunks that are full in one piece, and uses them again when they are sent", () => {
    const { output, sink, write, endTurn } = createOutput();
    write(10_000);
    for (let count = 0; count < 4; count += 1) write(CHUNK_BYTES);
    const { chunk } = output;
    expect(sink.writes).toEqual([10_000 + 3 * CHUNK_BYTES]);
    write(CHUNK_BYTES);
    expect(output.chunk).not.toBe(chunk);
    endTurn();
    expect(sink.writes).toEqual([10_000 + 3 * CHUNK_BYTES, 2 * CHUNK_BYTES]);
  });

  it("writes bytes without a copy between those of its chunk, and keeps the chunk until they are sent", () => {
    const { output, sink, pool, budget, write, endTurn } = createOutput();
    sink.isFast = false;
    write(9);
    const { chunk } = output;
    output.append(Buffer.alloc(16_384));
    write(9);
    output.append(Buffer.alloc(16_384));
    expect([sink.writes, output.chunk]).toEqual([[], chunk]);
    endTurn();
    expect([sink.writes, budget.usedBytes]).toEqual([[2 * (9 + 16_384)], CHUNK_BYTES]);
    sink.pendingBytes = 0;
    output.sent();
    expect([budget.usedBytes, pool.take()]).toEqual([0, chunk]);
  });

  it("writes 64 KiB without a copy in one piece, and counts them where they are not sent", () => {
    const { output, sink } = createOutput(65_536);
    sink.isFast = false;
    for (let count = 0; count < 4; count += 1) output.append(Buffer.alloc(16_384));
    expect([sink.writes, output.isCongested]).toEqual([[65_536], true]);
    output.append(Buffer.alloc(1));
    output.close();
    output.flush();
    expect(sink.writes).toEqual([65_536]);
  });

  it("keeps gathered chunks that are not sent until they are", () => {
    const { output, sink, pool, budget, write, endTurn } = createOutput();
    sink.isFast = false;
    for (let count = 0; count < 3; count += 1) write(CHUNK_BYTES);
    endTurn();
    expect([sink.writes, budget.usedBytes]).toEqual([[3 * CHUNK_BYTES], 3 * CHUNK_BYTES]);
    sink.pendingBytes = 0;
    output.sent();
    expect([budget.usedBytes, new Set([pool.take(), pool.take(), pool.take()]).size]).toEqual([0, 3]);
  });

  it("gives its chunk back at the end of the turn: an idle connection has none", () => {
    const { output, pool, write, endTurn } = createOutput();
    write(1);
    const { chunk } = output;
    endTurn();
    expect(output.chunk).toHaveLength(0);
    expect(pool.take()).toBe(chunk);
  });

  it("keeps a chunk that is not sent until it is", () => {
    const { output, sink, pool, budget, write, endTurn } = createOutput();
    sink.isFast = false;
    write(10);
    const { chunk } = output;
    endTurn();
    expect(output.isUnsent).toBe(true);
    expect(budget.usedBytes).toBe(CHUNK_BYTES);
    write(20);
    expect(output.chunk).not.toBe(chunk);
    endTurn();
    output.sent(); // The first of two writes.
    expect(output.isUnsent).toBe(true);
    expect(output.progress).toBe(1);
    sink.pendingBytes = 0;
    output.sent();
    expect(output.isUnsent).toBe(false);
    expect(budget.usedBytes).toBe(0);
    expect([pool.take(), pool.take()]).toContain(chunk);
  });

  it("pauses reading while too much is unsent", () => {
    const { output, sink, write, endTurn } = createOutput(2 * CHUNK_BYTES);
    sink.isFast = false;
    write(99);
    endTurn();
    expect(sink.isPaused).toBe(false);
    write(1);
    endTurn();
    expect([sink.isPaused, output.isCongested]).toEqual([true, true]);
    sink.pendingBytes = 0;
    output.sent();
    expect([sink.isPaused, output.isCongested]).toEqual([false, false]);
  });

  it("never uses again what may be on its way when it is closed", () => {
    const { output, sink, pool, budget, write, endTurn } = createOutput();
    sink.isFast = false;
    write(10);
    const { chunk } = output;
    endTurn();
    output.close();
    expect(budget.usedBytes).toBe(0);
    expect(pool.take()).not.toBe(chunk);
  });
});

describe("ChunkPool", () => {
  it("keeps a bounded number of free chunks", () => {
    const pool = new ChunkPool(256);
    const chunks = Array.from({ length: 300 }, () => pool.take());
    for (const chunk of chunks) pool.give(chunk);
    const again = new Set(Array.from({ length: 300 }, () => pool.take()));
    expect(chunks.filter((chunk) => again.has(chunk))).toHaveLength(256);
  });
});
