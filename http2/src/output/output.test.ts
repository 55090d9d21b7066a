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
    unsentBytes: () => sink.pendingBytes,
    pauseReading: () => void (sink.isPaused = true),
    resumeReading: () => void (sink.isPaused = false),
    end: () => {},
    destroy: () => {},
    refused: () => {},
  };
  const scheduled: TurnTask[] = [];
  const task: TurnTask = { runAtTurnEnd: () => output.runAtTurnEnd() };
  const pool = new ChunkPool();
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

  it("writes a chunk that is full, and uses it again when it is sent", () => {
    const { output, sink, write } = createOutput();
    write(10_000);
    const { chunk } = output;
    write(CHUNK_BYTES - 10_000);
    expect(sink.writes).toEqual([]);
    write(1);
    expect(sink.writes).toEqual([CHUNK_BYTES]);
    expect(output.chunk).toBe(chunk);
    expect(output.position).toBe(1);
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
    const pool = new ChunkPool();
    const chunks = Array.from({ length: 300 }, () => pool.take());
    for (const chunk of chunks) pool.give(chunk);
    const again = new Set(Array.from({ length: 300 }, () => pool.take()));
    expect(chunks.filter((chunk) => again.has(chunk))).toHaveLength(256);
  });
});
