// The commands of a batch, the sharing of its replies, its deadlines and the memory of expiries.
import { describe, expect, it } from "vitest";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { StoreError } from "../../store-error.ts";
import type { CommandSink, Reply } from "../connection/command-sink.ts";
import { ExpiryCache } from "../expiry/expiry-cache.ts";
import { CommandBatch, type BatchContext } from "./command-batch.ts";

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

function createContext(generationMaxKeys = 100): BatchContext {
  return {
    expiries: new ExpiryCache(generationMaxKeys),
    expirySeconds: (windowSeconds) => windowSeconds + 7,
    replyError: (cause) => new StoreError("STORE_UNAVAILABLE", cause instanceof Error ? cause.message : "?"),
  };
}

/** Adds a call to a batch. */
function add(batch: CommandBatch, call: WaitingBatch): WaitingBatch {
  call.pending = call.checks.length;
  for (const each of call.checks) batch.add(each, call);
  return call;
}

function value(number: number): Reply {
  return [null, number];
}

describe("CommandBatch", () => {
  it("write() merges keys and sends an expiry for each that has none yet", () => {
    const batch = new CommandBatch(0, 1000);
    add(batch, new WaitingBatch([check("a", 2), check("b")]));
    add(batch, new WaitingBatch([check("a", 3)]));
    const context = createContext();
    context.expiries.add("b_4000000200", 60);
    const sink = new NotedCommands();
    batch.write(sink, context);
    expect(sink.lines).toEqual(["INCRBY a_4000000200 5", "EXPIRE a_4000000200 67", "INCRBY b_4000000200 1"]);
    expect(batch.size).toBe(3);
  });

  it("write() sends another expiry when windows of two lengths begin together, so that the key lives through the longer one", () => {
    const context = createContext();
    const sink = new NotedCommands();
    const minute = check("a", 1, 7200, 60);
    const hour = check("a", 1, 7200, 3600);
    for (const each of [minute, hour, minute]) {
      const batch = new CommandBatch(0, 1000);
      add(batch, new WaitingBatch([each]));
      batch.write(sink, context);
    }
    const both = new CommandBatch(0, 1000);
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
    const batch = new CommandBatch(0, 1000);
    const first = add(batch, new WaitingBatch([check("a", 2), check("b", 1)]));
    const second = add(batch, new WaitingBatch([check("a", 0)]));
    const third = add(batch, new WaitingBatch([check("b", 4), check("a", 3)]));
    const context = createContext();
    batch.write(new NotedCommands(), context);
    expect(batch.settle([value(15), value(1), value(9), value(1)], context)).toEqual({ expiries: [], refused: [] });
    expect(await first.counts).toEqual([12, 5]);
    expect(await second.counts).toEqual([12]);
    expect(await third.counts).toEqual([9, 15]);
  });

  it("settle() asks for another expiry when a known key was new to the server", () => {
    const context = createContext();
    context.expiries.add("a_4000000200", 60);
    context.expiries.add("b_4000000200", 60);
    const batch = new CommandBatch(0, 1000);
    add(batch, new WaitingBatch([check("a", 2), check("b", 2)]));
    batch.write(new NotedCommands(), context);
    expect(batch.settle([value(2), value(3)], context)).toEqual({
      expiries: [{ key: "a_4000000200", seconds: 67 }],
      refused: [],
    });
    // What is asked for may be lost on its way: the next increment brings the expiry along again.
    expect(["a", "b"].map((key) => context.expiries.covers(`${key}_4000000200`, 60))).toEqual([false, true]);
  });

  it("sentExpiries() names the expiries that went along, and no others", () => {
    const context = createContext();
    context.expiries.add("b_4000000200", 60);
    const batch = new CommandBatch(0, 1000);
    add(batch, new WaitingBatch([check("a", 2), check("b", 2)]));
    read(batch, new WaitingBatch([check("r")]));
    batch.write(new NotedCommands(), context);
    expect(batch.sentExpiries(context)).toEqual([{ key: "a_4000000200", seconds: 67 }]);
  });

  it("settle() asks for no other expiry when the one of a new key went along", () => {
    const context = createContext();
    const batch = new CommandBatch(0, 1000);
    add(batch, new WaitingBatch([check("a", 2)]));
    batch.write(new NotedCommands(), context);
    expect(batch.settle([value(2), value(1)], context)).toEqual({ expiries: [], refused: [] });
  });

  it("settle() forgets the expiry of a key whose INCRBY or EXPIRE failed", () => {
    const context = createContext();
    const batch = new CommandBatch(0, 1000);
    add(batch, new WaitingBatch([check("a"), check("b"), check("c")]));
    batch.write(new NotedCommands(), context);
    const failure: Reply = [new Error("OOM"), undefined];
    batch.settle([failure, value(1), value(1), failure, value(1), value(1)], context);
    expect(["a", "b", "c"].map((key) => context.expiries.covers(`${key}_4000000200`, 60))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("settle() fails a call once when two of its keys fail, and lets others pass", async () => {
    const context = createContext();
    const batch = new CommandBatch(0, 1000);
    const failing = add(batch, new WaitingBatch([check("a"), check("b"), check("c")]));
    const fine = add(batch, new WaitingBatch([check("c")]));
    batch.write(new NotedCommands(), context);
    const failure: Reply = [new Error("WRONGTYPE"), undefined];
    batch.settle([failure, value(1), failure, value(1), value(2), value(1)], context);
    await expect(failing.counts).rejects.toThrow("WRONGTYPE");
    expect(await fine.counts).toEqual([2]);
  });

  it.each([
    { replies: [], message: "the reply is missing" },
    { replies: [[null, "abc"] as Reply], message: "unexpected reply abc" },
  ])("settle() fails a call with '$message'", async ({ replies, message }) => {
    const context = createContext();
    const batch = new CommandBatch(0, 1000);
    const call = add(batch, new WaitingBatch([check("a")]));
    batch.write(new NotedCommands(), context);
    batch.settle(replies, context);
    await expect(call.counts).rejects.toThrow(message);
  });

  it("fail() fails every call that has no answer, and forgets the expiries it sent", async () => {
    const context = createContext();
    const batch = new CommandBatch(0, 1000);
    const call = add(batch, new WaitingBatch([check("a")]));
    batch.write(new NotedCommands(), context);
    batch.fail(new StoreError("STORE_TIMEOUT", "late"), context);
    batch.fail(new StoreError("STORE_TIMEOUT", "late"), context);
    await expect(call.counts).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    expect(context.expiries.covers("a_4000000200", 60)).toBe(false);
  });

  it("failImpatient() fails the calls whose deadline has come and looks forward to the next", async () => {
    const batch = new CommandBatch(0, 1000);
    const hasty = add(batch, new WaitingBatch([check("a")], 50));
    const calm = add(batch, new WaitingBatch([check("a")], 300));
    const patient = add(batch, new WaitingBatch([check("a")]));
    expect(batch.nextDeadlineMs).toBe(50);
    batch.failImpatient(60, 1000, "store:1");
    await expect(hasty.counts).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
      message: "Cannot count on store:1: the caller's deadline passed after 60 ms",
    });
    expect([calm.isAnswered, patient.isAnswered, batch.nextDeadlineMs]).toEqual([false, false, 300]);
    batch.failImpatient(300, 1000, "store:1");
    expect([calm.isAnswered, patient.isAnswered, batch.nextDeadlineMs]).toEqual([true, false, 1000]);
    const context = createContext();
    batch.write(new NotedCommands(), context);
    batch.settle([value(3), value(1)], context);
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
  it("write() sends one GET per key before the increments, and settle() gives every reader the number", async () => {
    const batch = new CommandBatch(0, 1000);
    const first = read(batch, new WaitingBatch([check("a"), check("b")]));
    const second = read(batch, new WaitingBatch([check("a", 7)]));
    const counting = add(batch, new WaitingBatch([check("c", 2)]));
    const context = createContext();
    const sink = new NotedCommands();
    batch.write(sink, context);
    expect(sink.lines).toEqual([
      "GET a_4000000200",
      "GET b_4000000200",
      "INCRBY c_4000000200 2",
      "EXPIRE c_4000000200 67",
    ]);
    expect([batch.size, batch.commands]).toEqual([4, 3]);
    batch.settle([[null, "12"], [null, null], value(2), value(1)], context);
    expect(await Promise.all([first.counts, second.counts, counting.counts])).toEqual([[12, 0], [12], [2]]);
  });

  it("settle() lets a read see the increments that came before it in the batch, and no others", async () => {
    const batch = new CommandBatch(0, 1000);
    const before = read(batch, new WaitingBatch([check("a")]));
    add(batch, new WaitingBatch([check("a", 2)]));
    const between = read(batch, new WaitingBatch([check("a", 9)]));
    add(batch, new WaitingBatch([check("a", 3)]));
    const context = createContext();
    const sink = new NotedCommands();
    batch.write(sink, context);
    expect(sink.lines).toEqual(["GET a_4000000200", "INCRBY a_4000000200 5", "EXPIRE a_4000000200 67"]);
    batch.settle([[null, "10"], value(15), value(1)], context);
    expect(await Promise.all([before.counts, between.counts])).toEqual([[10], [12]]);
  });

  it("settle() fails readers of a value that is no count, and no others", async () => {
    const batch = new CommandBatch(0, 1000);
    const bad = read(batch, new WaitingBatch([check("a")]));
    const good = read(batch, new WaitingBatch([check("b")]));
    const context = createContext();
    batch.write(new NotedCommands(), context);
    batch.settle(
      [
        [null, "1.5"],
        [null, "3"],
      ],
      context,
    );
    await expect(bad.counts).rejects.toThrow("ERR value is not an integer or out of range");
    expect(await good.counts).toEqual([3]);
  });
});

describe("CommandBatch whose commands are refused", () => {
  const moved: Reply = [new Error("MOVED 1 b:1"), undefined];

  it("settle() hands refused checks back without an answer, and another batch gives them theirs", async () => {
    const context = refusing("MOVED");
    const batch = new CommandBatch(5, 1000);
    const counting = add(batch, new WaitingBatch([check("a", 2), check("b")]));
    const further = add(batch, new WaitingBatch([check("a", 3)]));
    const reading = read(batch, new WaitingBatch([check("r")]));
    batch.write(new NotedCommands(), context);
    const { refused, expiries } = batch.settle([moved, moved, moved, value(1), value(1)], context);
    expect(refused.map(({ checks, error }) => [checks.key, checks.isRead, checks.sum, error.message])).toEqual([
      ["r_4000000200", true, 0, "MOVED 1 b:1"],
      ["a_4000000200", false, 5, "MOVED 1 b:1"],
    ]);
    expect(expiries).toEqual([]);
    expect([counting.isAnswered, further.isAnswered, reading.isAnswered]).toEqual([false, false, false]);
    const again = new CommandBatch(5, 1000);
    for (const { checks } of refused) again.adopt(checks);
    const sink = new NotedCommands();
    again.write(sink, context);
    expect(sink.lines).toEqual(["GET r_4000000200", "INCRBY a_4000000200 5", "EXPIRE a_4000000200 67"]);
    again.settle([[null, "4"], value(15), value(1)], context);
    expect(await Promise.all([counting.counts, further.counts, reading.counts])).toEqual([[12, 1], [15], [4]]);
  });

  it("settle() asks for another expiry when the increment passed and its expiry was refused", async () => {
    const context = refusing("MOVED");
    const batch = new CommandBatch(0, 1000);
    const call = add(batch, new WaitingBatch([check("a", 2)]));
    batch.write(new NotedCommands(), context);
    expect(batch.settle([value(9), moved], context)).toEqual({
      expiries: [{ key: "a_4000000200", seconds: 67, refusal: new Error("MOVED 1 b:1") }],
      refused: [],
    });
    expect(await call.counts).toEqual([9]);
  });

  it("settle() fails the calls of other errors though refusals are taken back", async () => {
    const context = refusing("MOVED");
    const batch = new CommandBatch(0, 1000);
    const call = add(batch, new WaitingBatch([check("a")]));
    batch.write(new NotedCommands(), context);
    expect(batch.settle([[new Error("OOM"), undefined], moved], context)).toEqual({ expiries: [], refused: [] });
    await expect(call.counts).rejects.toThrow("OOM");
  });

  it("write() sends ASKING before each command when the batch is asking, and settle() skips its replies", async () => {
    const context = createContext();
    const batch = new CommandBatch(0, 1000, true);
    const reading = read(batch, new WaitingBatch([check("r")]));
    const counting = add(batch, new WaitingBatch([check("a", 2), check("b")]));
    context.expiries.add("b_4000000200", 60);
    const sink = new NotedCommands();
    batch.write(sink, context);
    expect(sink.lines).toEqual([
      "ASKING",
      "GET r_4000000200",
      "ASKING",
      "INCRBY a_4000000200 2",
      "ASKING",
      "EXPIRE a_4000000200 67",
      "ASKING",
      "INCRBY b_4000000200 1",
    ]);
    const ok: Reply = [null, "OK"];
    batch.settle([ok, [null, "4"], ok, value(7), ok, value(1), ok, value(9)], context);
    expect(await Promise.all([reading.counts, counting.counts])).toEqual([[4], [7, 9]]);
  });
});
