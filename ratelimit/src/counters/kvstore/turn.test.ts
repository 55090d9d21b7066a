// The commands of a turn, the sharing of its replies, its deadlines and the memory of expiries.
import { describe, expect, it } from "vitest";
import { check, WaitingBatch } from "../counter.suite.ts";
import { StoreError } from "../store-error.ts";
import { ExpiryMemory } from "./expiry-memory.ts";
import { type CommandSink, type Reply, Turn, type TurnContext } from "./turn.ts";

/** A sink that notes commands as a person would type them. */
class NotedCommands implements CommandSink {
  readonly lines: string[] = [];

  incrby(key: string, increment: number): void {
    this.lines.push(`INCRBY ${key} ${increment}`);
  }

  expire(key: string, seconds: number): void {
    this.lines.push(`EXPIRE ${key} ${seconds}`);
  }

  get(key: string): void {
    this.lines.push(`GET ${key}`);
  }

  asking(): void {
    this.lines.push("ASKING");
  }

  call(command: string, ...args: string[]): void {
    this.lines.push([command, ...args].join(" "));
  }
}

function createContext(generationMaxKeys = 100): TurnContext {
  return {
    expiries: new ExpiryMemory(generationMaxKeys),
    expirySeconds: (windowSeconds) => windowSeconds + 7,
    replyError: (cause) => new StoreError("STORE_UNAVAILABLE", cause instanceof Error ? cause.message : "?"),
  };
}

/** Adds a call to a turn. */
function add(turn: Turn, batch: WaitingBatch): WaitingBatch {
  batch.pending = batch.checks.length;
  for (const each of batch.checks) turn.add(each, batch);
  return batch;
}

function value(number: number): Reply {
  return [null, number];
}

describe("Turn", () => {
  it("write() merges keys and sends an expiry for each that has none yet", () => {
    const turn = new Turn(0, 1000);
    add(turn, new WaitingBatch([check("a", 2), check("b")]));
    add(turn, new WaitingBatch([check("a", 3)]));
    const context = createContext();
    context.expiries.add("b_4000000200", 60);
    const sink = new NotedCommands();
    turn.write(sink, context);
    expect(sink.lines).toEqual(["INCRBY a_4000000200 5", "EXPIRE a_4000000200 67", "INCRBY b_4000000200 1"]);
    expect(turn.size).toBe(3);
  });

  it("write() sends another expiry when windows of two lengths begin together, so that the key lives through the longer one", () => {
    const context = createContext();
    const sink = new NotedCommands();
    const minute = check("a", 1, 7200, 60);
    const hour = check("a", 1, 7200, 3600);
    for (const each of [minute, hour, minute]) {
      const turn = new Turn(0, 1000);
      add(turn, new WaitingBatch([each]));
      turn.write(sink, context);
    }
    const both = new Turn(0, 1000);
    add(both, new WaitingBatch([check("b", 1, 7200, 60), check("b", 1, 7200, 3600)]));
    both.write(sink, context);
    expect(sink.lines).toEqual([
      "INCRBY a_7200 1",
      "EXPIRE a_7200 67",
      "INCRBY a_7200 1",
      "EXPIRE a_7200 3607",
      "INCRBY a_7200 1",
      "INCRBY b_7200 2",
      "EXPIRE b_7200 3607",
    ]);
  });

  it("settle() gives each call the count it would have seen alone", async () => {
    const turn = new Turn(0, 1000);
    const first = add(turn, new WaitingBatch([check("a", 2), check("b", 1)]));
    const second = add(turn, new WaitingBatch([check("a", 0)]));
    const third = add(turn, new WaitingBatch([check("b", 4), check("a", 3)]));
    const context = createContext();
    turn.write(new NotedCommands(), context);
    expect(turn.settle([value(15), value(1), value(9), value(1)], context)).toEqual({ expiries: [], refused: [] });
    expect(await first.counts).toEqual([12, 5]);
    expect(await second.counts).toEqual([12]);
    expect(await third.counts).toEqual([9, 15]);
  });

  it("settle() asks for another expiry when a known key was new to the server", () => {
    const context = createContext();
    context.expiries.add("a_4000000200", 60);
    context.expiries.add("b_4000000200", 60);
    const turn = new Turn(0, 1000);
    add(turn, new WaitingBatch([check("a", 2), check("b", 2)]));
    turn.write(new NotedCommands(), context);
    expect(turn.settle([value(2), value(3)], context)).toEqual({ expiries: [{ key: "a_4000000200", seconds: 67 }], refused: [] });
  });

  it("settle() asks for no other expiry when the one of a new key went along", () => {
    const context = createContext();
    const turn = new Turn(0, 1000);
    add(turn, new WaitingBatch([check("a", 2)]));
    turn.write(new NotedCommands(), context);
    expect(turn.settle([value(2), value(1)], context)).toEqual({ expiries: [], refused: [] });
  });

  it("settle() forgets the expiry of a key whose INCRBY or EXPIRE failed", () => {
    const context = createContext();
    const turn = new Turn(0, 1000);
    add(turn, new WaitingBatch([check("a"), check("b"), check("c")]));
    turn.write(new NotedCommands(), context);
    const failure: Reply = [new Error("OOM"), undefined];
    turn.settle([failure, value(1), value(1), failure, value(1), value(1)], context);
    expect(["a", "b", "c"].map((key) => context.expiries.covers(`${key}_4000000200`, 60))).toEqual([false, false, true]);
  });

  it("settle() fails a call once when two of its keys fail, and lets others pass", async () => {
    const context = createContext();
    const turn = new Turn(0, 1000);
    const failing = add(turn, new WaitingBatch([check("a"), check("b"), check("c")]));
    const fine = add(turn, new WaitingBatch([check("c")]));
    turn.write(new NotedCommands(), context);
    const failure: Reply = [new Error("WRONGTYPE"), undefined];
    turn.settle([failure, value(1), failure, value(1), value(2), value(1)], context);
    await expect(failing.counts).rejects.toThrow("WRONGTYPE");
    expect(await fine.counts).toEqual([2]);
  });

  it.each([
    { replies: [], message: "the reply is missing" },
    { replies: [[null, "abc"] as Reply], message: "unexpected reply abc" },
  ])("settle() fails a call with '$message'", async ({ replies, message }) => {
    const context = createContext();
    const turn = new Turn(0, 1000);
    const batch = add(turn, new WaitingBatch([check("a")]));
    turn.write(new NotedCommands(), context);
    turn.settle(replies, context);
    await expect(batch.counts).rejects.toThrow(message);
  });

  it("fail() fails every call that has no answer, and forgets the expiries it sent", async () => {
    const context = createContext();
    const turn = new Turn(0, 1000);
    const batch = add(turn, new WaitingBatch([check("a")]));
    turn.write(new NotedCommands(), context);
    turn.fail(new StoreError("STORE_TIMEOUT", "late"), context);
    turn.fail(new StoreError("STORE_TIMEOUT", "late"), context);
    await expect(batch.counts).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    expect(context.expiries.covers("a_4000000200", 60)).toBe(false);
  });

  it("failImpatient() fails the calls whose deadline has come and looks forward to the next", async () => {
    const turn = new Turn(0, 1000);
    const hasty = add(turn, new WaitingBatch([check("a")], 50));
    const calm = add(turn, new WaitingBatch([check("a")], 300));
    const patient = add(turn, new WaitingBatch([check("a")]));
    expect(turn.nextDeadlineMs).toBe(50);
    turn.failImpatient(60, 1000, "store:1");
    await expect(hasty.counts).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
      message: "Cannot count on store:1: the caller's deadline passed after 60 ms",
    });
    expect([calm.isAnswered, patient.isAnswered, turn.nextDeadlineMs]).toEqual([false, false, 300]);
    turn.failImpatient(300, 1000, "store:1");
    expect([calm.isAnswered, patient.isAnswered, turn.nextDeadlineMs]).toEqual([true, false, 1000]);
    const context = createContext();
    turn.write(new NotedCommands(), context);
    turn.settle([value(3), value(1)], context);
    expect(await patient.counts).toEqual([3]);
  });
});

describe("ExpiryMemory", () => {
  it("covers() knows at least the last generation and at most two", () => {
    const memory = new ExpiryMemory(2);
    for (const key of ["a", "b", "c", "d", "e"]) memory.add(key, 60);
    expect(["a", "b", "c", "d", "e"].map((key) => memory.covers(key, 60))).toEqual([false, false, true, true, true]);
  });

  it("covers() denies when the expiry was sent for a shorter window", () => {
    const memory = new ExpiryMemory(2);
    memory.add("a", 60);
    expect([1, 60, 3600].map((windowSeconds) => memory.covers("a", windowSeconds))).toEqual([true, true, false]);
  });

  it("add() holds no key that is long, for a request may carry megabytes", () => {
    const memory = new ExpiryMemory(2);
    memory.add("x".repeat(256), 60);
    memory.add("x".repeat(257), 60);
    expect([256, 257].map((length) => memory.covers("x".repeat(length), 60))).toEqual([true, false]);
  });

  it("delete() forgets a key of either generation", () => {
    const memory = new ExpiryMemory(1);
    memory.add("old", 60);
    memory.add("young", 60);
    memory.delete("old");
    memory.delete("young");
    expect([memory.covers("old", 60), memory.covers("young", 60)]).toEqual([false, false]);
  });
});
