// The commands of a batch, the distribution of its replies, its deadlines and the expiries it notes.
import { silentLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { StoreError } from "../../store-error.ts";
import { CommandBuffer } from "../connection/command-buffer.ts";
import { commandLines } from "../connection/command-lines.suite.ts";
import type { Reply } from "../connection/reply.ts";
import { ExpiryCache, type KeyExpiry } from "../expiry/expiry-cache.ts";
import { CellCommands } from "./cell-commands.ts";
import { type BatchContext, CommandBatch, type RefusedChecks } from "./command-batch.ts";
import { KeyChecks } from "./key-checks.ts";
import { KeyMerger } from "./key-merger.ts";

function createContext(): BatchContext {
  return {
    merger: new KeyMerger(),
    expiries: new ExpiryCache(16),
    cells: new CellCommands({ log: silentLog(), monotonicMs: () => 0, usesOwnClock: true, text: () => "redis" }),
    expirySeconds: (windowSeconds) => windowSeconds + 7,
    replyError: (cause) => new StoreError("STORE_UNAVAILABLE", cause instanceof Error ? cause.message : "?"),
    completed: () => undefined,
    lost: () => undefined,
  };
}

/** A batch that merges keys, as that of a server. */
function openBatch(createdMs = 0, isAsking = false): CommandBatch {
  return new CommandBatch(createdMs, 1000, { isAsking, countsCommands: true });
}

/** Returns the commands that a batch writes. */
function linesOf(batch: CommandBatch, context: BatchContext): readonly string[] {
  const buffer = new CommandBuffer();
  batch.write(buffer, context);
  return commandLines(buffer.encoded());
}

/** Gives a batch its replies, and returns what remains to be done. */
function settle(
  batch: CommandBatch,
  ...replies: readonly Reply[]
): { readonly expiries: readonly KeyExpiry[]; readonly refused: readonly RefusedChecks[] } {
  expect(replies).toHaveLength(batch.replies);
  for (const reply of replies) batch.receive(reply);
  return { expiries: batch.expiries ?? [], refused: batch.refused ?? [] };
}

/** A key of `check`, with its hash. */
function hashed({ merger }: BatchContext, name: string): KeyChecks {
  const checks = new KeyChecks(check(name), new WaitingBatch([]), false);
  merger.merge([checks]);
  return checks;
}

/** Returns true if the cache has the expiry of a key of `check`. */
function covers(context: BatchContext, name: string): boolean {
  return context.expiries.covers(hashed(context, name), 60);
}

function add(batch: CommandBatch, call: WaitingBatch): WaitingBatch {
  call.pending = call.checks.length;
  for (const each of call.checks) batch.add(each, call);
  return call;
}

describe("CommandBatch", () => {
  it("write() merges keys and sends an expiry for each that has none yet", () => {
    const batch = openBatch();
    add(batch, new WaitingBatch([check("a", 2), check("b")]));
    add(batch, new WaitingBatch([check("a", 3)]));
    const context = createContext();
    context.expiries.add(hashed(context, "b"), 60);
    expect(linesOf(batch, context)).toEqual([
      "INCRBY a_4000000200 5",
      "EXPIRE a_4000000200 67",
      "INCRBY b_4000000200 1",
    ]);
    expect(batch.size).toBe(3);
  });

  it("write() sends another expiry when windows of two lengths begin together, so that the key lives through the longer one", () => {
    const context = createContext();
    const minute = check("a", 1, 7200, 60);
    const hour = check("a", 1, 7200, 3600);
    const both = [check("b", 1, 7200, 60), check("b", 1, 7200, 3600)];
    const lines = [[minute], [hour], [minute], both].map((checks) => {
      const batch = openBatch();
      add(batch, new WaitingBatch(checks));
      return linesOf(batch, context);
    });
    expect(lines).toEqual([
      ["INCRBY a_7200 1", "EXPIRE a_7200 67"],
      ["INCRBY a_7200 1", "EXPIRE a_7200 3607"],
      ["INCRBY a_7200 1"],
      ["INCRBY b_7200 2", "EXPIRE b_7200 3607"],
    ]);
  });

  it("receive() gives each call the count it would have seen alone", async () => {
    const batch = openBatch();
    const first = add(batch, new WaitingBatch([check("a", 2), check("b", 1)]));
    const second = add(batch, new WaitingBatch([check("a", 0)]));
    const third = add(batch, new WaitingBatch([check("b", 4), check("a", 3)]));
    const context = createContext();
    linesOf(batch, context);
    expect(settle(batch, 15, 1, 9, 1)).toEqual({ expiries: [], refused: [] });
    expect(await first.counts).toEqual([12, 5]);
    expect(await second.counts).toEqual([12]);
    expect(await third.counts).toEqual([9, 15]);
  });

  it("receive() asks for another expiry when a known key was new to the server", () => {
    const context = createContext();
    context.expiries.add(hashed(context, "a"), 60);
    context.expiries.add(hashed(context, "b"), 60);
    const batch = openBatch();
    add(batch, new WaitingBatch([check("a", 2), check("b", 2)]));
    linesOf(batch, context);
    expect(settle(batch, 2, 3)).toEqual({
      expiries: [{ key: "a_4000000200", seconds: 67 }],
      refused: [],
    });
    // The requested expiry may be lost on its way: the next increment brings it along again.
    expect(["a", "b"].map((key) => covers(context, key))).toEqual([false, true]);
  });

  it("unansweredExpiries() names the expiries that were sent and not answered, and no others", () => {
    const context = createContext();
    context.expiries.add(hashed(context, "b"), 60);
    const batch = openBatch();
    add(batch, new WaitingBatch([check("a", 2), check("b", 2), check("c", 2)]));
    read(batch, new WaitingBatch([check("r")]));
    linesOf(batch, context);
    const names: string[][] = [];
    for (const reply of [2, 1, 2, 2, 1, null]) {
      names.push(batch.unansweredExpiries().map(({ key, seconds }) => `${key} ${seconds}`));
      batch.receive(reply);
    }
    const [a, c] = ["a_4000000200 67", "c_4000000200 67"];
    expect(names).toEqual([[a, c], [a, c], [c], [c], [c], []]);
  });

  it("receive() asks for no other expiry when the one of a new key went along", () => {
    const context = createContext();
    const batch = openBatch();
    add(batch, new WaitingBatch([check("a", 2)]));
    linesOf(batch, context);
    expect(settle(batch, 2, 1)).toEqual({ expiries: [], refused: [] });
  });

  it("receive() forgets the expiry of a key whose INCRBY or EXPIRE failed", () => {
    const context = createContext();
    const batch = openBatch();
    add(batch, new WaitingBatch([check("a"), check("b"), check("c")]));
    linesOf(batch, context);
    const failure: Reply = new Error("OOM");
    settle(batch, failure, 1, 1, failure, 1, 1);
    expect(["a", "b", "c"].map((key) => covers(context, key))).toEqual([false, false, true]);
  });

  it("receive() fails a call once when two of its keys fail, and lets others pass", async () => {
    const context = createContext();
    const batch = openBatch();
    const failing = add(batch, new WaitingBatch([check("a"), check("b"), check("c")]));
    const fine = add(batch, new WaitingBatch([check("c")]));
    linesOf(batch, context);
    const failure: Reply = new Error("WRONGTYPE");
    settle(batch, failure, 1, failure, 1, 2, 1);
    await expect(failing.counts).rejects.toThrow("WRONGTYPE");
    expect(await fine.counts).toEqual([2]);
  });

  it("receive() fails a call whose reply is no count", async () => {
    const context = createContext();
    const batch = openBatch();
    const call = add(batch, new WaitingBatch([check("a")]));
    linesOf(batch, context);
    settle(batch, "abc", 1);
    await expect(call.counts).rejects.toThrow("unexpected reply abc");
  });

  it("receive() answers a call as soon as its replies are there", () => {
    const context = createContext();
    const batch = openBatch();
    const [first, second] = ["a", "b"].map((key) => add(batch, new WaitingBatch([check(key)])));
    linesOf(batch, context);
    batch.receive(1);
    expect([first?.isAnswered, second?.isAnswered]).toEqual([true, false]);
  });

  it("fail() fails every call that has no answer, and forgets the expiries it sent", async () => {
    const context = createContext();
    const batch = openBatch();
    const call = add(batch, new WaitingBatch([check("a")]));
    linesOf(batch, context);
    batch.fail(new StoreError("STORE_TIMEOUT", "late"));
    batch.fail(new StoreError("STORE_TIMEOUT", "late"));
    await expect(call.counts).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    expect(covers(context, "a")).toBe(false);
  });

  it("failImpatient() fails the calls whose deadline has come and looks forward to the next", async () => {
    const batch = openBatch();
    const hasty = add(batch, new WaitingBatch([check("a")], 50));
    const middle = add(batch, new WaitingBatch([check("a")], 300));
    const patient = add(batch, new WaitingBatch([check("a")]));
    expect(batch.nextDeadlineMs).toBe(50);
    batch.failImpatient(60, 1000, "store:1");
    await expect(hasty.counts).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
      message: "Cannot count on store:1: the caller's deadline passed after 60 ms",
    });
    expect([middle.isAnswered, patient.isAnswered, batch.nextDeadlineMs]).toEqual([false, false, 300]);
    batch.failImpatient(300, 1000, "store:1");
    expect([middle.isAnswered, patient.isAnswered, batch.nextDeadlineMs]).toEqual([true, false, 1000]);
    const context = createContext();
    linesOf(batch, context);
    settle(batch, 3, 1);
    expect(await patient.counts).toEqual([3]);
  });
});

/** Adds a call that only reads. */
function read(batch: CommandBatch, call: WaitingBatch): WaitingBatch {
  call.pending = call.checks.length;
  for (const each of call.checks) batch.read(each, call);
  return call;
}

function refusing(words: string): BatchContext {
  return { ...createContext(), isRefusal: (error) => error.message.startsWith(words) };
}

describe("CommandBatch with reads", () => {
  it("write() sends one GET per key, and receive() gives every reader the number", async () => {
    const batch = openBatch();
    const first = read(batch, new WaitingBatch([check("a"), check("b")]));
    const second = read(batch, new WaitingBatch([check("a", 7)]));
    const counting = add(batch, new WaitingBatch([check("c", 2)]));
    const context = createContext();
    expect(linesOf(batch, context)).toEqual([
      "GET a_4000000200",
      "GET b_4000000200",
      "INCRBY c_4000000200 2",
      "EXPIRE c_4000000200 67",
    ]);
    expect([batch.size, batch.commands]).toEqual([4, 3]);
    settle(batch, "12", null, 2, 1);
    expect(await Promise.all([first.counts, second.counts, counting.counts])).toEqual([[12, 0], [12], [2]]);
  });

  it("receive() lets a read see the increments that came before it in the batch, and no others", async () => {
    const batch = openBatch();
    const before = read(batch, new WaitingBatch([check("a")]));
    add(batch, new WaitingBatch([check("a", 2)]));
    const between = read(batch, new WaitingBatch([check("a", 9)]));
    add(batch, new WaitingBatch([check("a", 3)]));
    const context = createContext();
    expect(linesOf(batch, context)).toEqual(["GET a_4000000200", "INCRBY a_4000000200 5", "EXPIRE a_4000000200 67"]);
    settle(batch, "10", 15, 1);
    expect(await Promise.all([before.counts, between.counts])).toEqual([[10], [12]]);
  });

  it("receive() fails readers of a value that is no count, and no others", async () => {
    const batch = openBatch();
    const bad = read(batch, new WaitingBatch([check("a")]));
    const good = read(batch, new WaitingBatch([check("b")]));
    const context = createContext();
    linesOf(batch, context);
    settle(batch, "1.5", "3");
    await expect(bad.counts).rejects.toThrow("ERR value is not an integer or out of range");
    expect(await good.counts).toEqual([3]);
  });
});

describe("CommandBatch whose commands are refused", () => {
  const moved: Reply = new Error("MOVED 1 b:1");

  it("receive() hands refused checks back without an answer, and another batch gives them theirs", async () => {
    const context = refusing("MOVED");
    const batch = openBatch(5);
    const counting = add(batch, new WaitingBatch([check("a", 2), check("b")]));
    const further = add(batch, new WaitingBatch([check("a", 3)]));
    const reading = read(batch, new WaitingBatch([check("r")]));
    linesOf(batch, context);
    const { refused, expiries } = settle(batch, moved, moved, 1, 1, moved);
    expect(refused.map(({ checks, error }) => [checks.key, checks.isRead, checks.sum, error.message])).toEqual([
      ["a_4000000200", false, 5, "MOVED 1 b:1"],
      ["r_4000000200", true, 0, "MOVED 1 b:1"],
    ]);
    expect(expiries).toEqual([]);
    expect([counting.isAnswered, further.isAnswered, reading.isAnswered]).toEqual([false, false, false]);
    const again = openBatch(5);
    for (const { checks } of refused) again.adopt(checks);
    expect(linesOf(again, context)).toEqual(["INCRBY a_4000000200 5", "EXPIRE a_4000000200 67", "GET r_4000000200"]);
    settle(again, 15, 1, "4");
    expect(await Promise.all([counting.counts, further.counts, reading.counts])).toEqual([[12, 1], [15], [4]]);
  });

  it("receive() asks for another expiry when the increment passed and its expiry was refused", async () => {
    const context = refusing("MOVED");
    const batch = openBatch();
    const call = add(batch, new WaitingBatch([check("a", 2)]));
    linesOf(batch, context);
    expect(settle(batch, 9, moved)).toEqual({
      expiries: [{ key: "a_4000000200", seconds: 67, refusal: new Error("MOVED 1 b:1") }],
      refused: [],
    });
    expect(await call.counts).toEqual([9]);
  });

  it("receive() fails the calls of other errors though refusals are taken back", async () => {
    const context = refusing("MOVED");
    const batch = openBatch();
    const call = add(batch, new WaitingBatch([check("a")]));
    linesOf(batch, context);
    expect(settle(batch, new Error("OOM"), moved)).toEqual({ expiries: [], refused: [] });
    await expect(call.counts).rejects.toThrow("OOM");
  });

  it("write() sends ASKING before each command when the batch is asking, and receive() skips its replies", async () => {
    const context = createContext();
    const batch = openBatch(0, true);
    const reading = read(batch, new WaitingBatch([check("r")]));
    const counting = add(batch, new WaitingBatch([check("a", 2), check("b")]));
    context.expiries.add(hashed(context, "b"), 60);
    expect(linesOf(batch, context)).toEqual([
      "ASKING",
      "GET r_4000000200",
      "ASKING",
      "INCRBY a_4000000200 2",
      "ASKING",
      "EXPIRE a_4000000200 67",
      "ASKING",
      "INCRBY b_4000000200 1",
    ]);
    const ok: Reply = "OK";
    settle(batch, ok, "4", ok, 7, ok, 1, ok, 9);
    expect(await Promise.all([reading.counts, counting.counts])).toEqual([[4], [7, 9]]);
  });
});
