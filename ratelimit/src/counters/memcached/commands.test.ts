// The lines that the commands send, their handling of each answer, and their statistics.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { check, WaitingBatch } from "../counter.suite.ts";
import { StoreError } from "../store-error.ts";
import { MemcachedStatistics } from "./memcached-statistics.ts";
import { Call } from "./call.ts";
import { GetCommand, IncrementCommand, KeyRead } from "./commands.ts";
import { ProtocolError } from "./reply-parser.ts";

const replyError = (line: string): StoreError => new StoreError("STORE_UNAVAILABLE", line);
const LOST = new StoreError("STORE_TIMEOUT", "lost");

/**
 * An increment of `key_1200` by 1 in a window of a second that sends 101 as its expiry, with its
 * results.
 */
function increment() {
  const store = new StatisticsStore({ maxDynamicKeys: 1 });
  const reported: string[] = [];
  const command = new IncrementCommand(
    {
      statistics: new MemcachedStatistics(store),
      expiryNumber: (windowSeconds) => windowSeconds + 100,
      replyError,
      again: (again) => reported.push(again.text),
      finished: (error) => reported.push(error === undefined ? "done" : `failed: ${error.message}`),
    },
    "key_1200",
    1,
    1,
  );
  const counted = (): Record<string, number> => {
    const found: Record<string, number> = {};
    store
      .walk({
        counter: (name, value) => {
          if (value !== 0) found[name.replace("ratelimit.memcache.", "")] = value;
        },
        rule: () => undefined,
        gauge: () => undefined,
        timer: () => undefined,
      })
      .toArray();
    return found;
  };
  return { command, reported, counted };
}

describe("IncrementCommand", () => {
  it("line() accepts a sum", () => {
    const { command, reported, counted } = increment();
    command.add(4);
    expect(command.text).toBe("incr key_1200 5\r\n");
    command.line("12");
    expect(reported).toEqual(["done"]);
    expect(counted()).toEqual({ "increment.__code=success": 1 });
  });

  it("case 135: line() adds the key with its expiry when it does not exist", () => {
    const { command, reported, counted } = increment();
    command.line("NOT_FOUND");
    command.line("STORED");
    expect(reported).toEqual(["add key_1200 0 101 1\r\n1\r\n", "done"]);
    expect(counted()).toEqual({ "increment.__code=miss": 1, "add.__code=success": 1 });
  });

  it("case 136: line() increments again by the same number when another client has added the key", () => {
    const { command, reported, counted } = increment();
    command.add(2);
    for (const line of ["NOT_FOUND", "NOT_STORED", "7  "]) command.line(line);
    expect(reported).toEqual(["add key_1200 0 101 1\r\n3\r\n", "incr key_1200 3\r\n", "done"]);
    expect(counted()).toEqual({
      "increment.__code=miss": 1,
      "add.__code=not_stored": 1,
      "increment.__code=success": 1,
    });
  });

  it("line() gives up when the key is gone once more", () => {
    const { command, reported, counted } = increment();
    for (const line of ["NOT_FOUND", "NOT_STORED", "NOT_FOUND"]) command.line(line);
    expect(reported.at(-1)).toBe("failed: NOT_FOUND");
    expect(counted()).toEqual({ "increment.__code=miss": 2, "add.__code=not_stored": 1 });
  });

  it.each([
    {
      lines: ["CLIENT_ERROR cannot increment or decrement non-numeric value"],
      counted: { "increment.__code=error": 1 },
    },
    {
      lines: ["NOT_FOUND", "SERVER_ERROR out of memory"],
      counted: { "increment.__code=miss": 1, "add.__code=error": 1 },
    },
  ])("case 142: line() counts an error when the answers are $lines", ({ lines, counted }) => {
    const one = increment();
    for (const line of lines) one.command.line(line);
    expect(one.reported.at(-1)).toBe(`failed: ${lines.at(-1)}`);
    expect(one.counted()).toEqual(counted);
  });

  it.each([
    { lines: ["ERROR"], problem: 'the answer to incr is "ERROR"' },
    { lines: ["STORED"], problem: 'the answer to incr is "STORED"' },
    { lines: ["-1"], problem: 'the answer to incr is "-1"' },
    { lines: ["NOT_FOUND", "12"], problem: 'the answer to add is "12"' },
    {
      lines: ["NOT_FOUND", "CLIENT_ERROR bad data chunk"],
      problem: 'the answer to add is "CLIENT_ERROR bad data chunk"',
    },
  ])("line() says that $problem", ({ lines, problem }) => {
    const { command } = increment();
    const last = lines.at(-1) ?? "";
    for (const line of lines.slice(0, -1)) command.line(line);
    expect(() => command.line(last)).toThrow(problem);
  });

  it("lost() counts an error of the step it was in", () => {
    const one = increment();
    one.command.line("NOT_FOUND");
    one.command.lost(LOST);
    expect(one.reported.at(-1)).toBe("failed: lost");
    expect(one.counted()).toEqual({ "increment.__code=miss": 1, "add.__code=error": 1 });
  });
});

/** A get for two calls: the first wants a and b, the second b twice, each with its own addend. */
function get() {
  const notNumbers: string[] = [];
  const owner = {
    finish: (call: Call) => {
      call.isAnswered = true;
      call.batch.counted();
    },
  };
  const batches = [
    new WaitingBatch([check("a", 2), check("b", 3)]),
    new WaitingBatch([check("b", 5), check("b", 7)]),
  ] as const;
  const never = { dueMs: Infinity, isRead: false };
  const calls = [new Call(owner, batches[0], never), new Call(owner, batches[1], never)] as const;
  const [a, b, again, third] = [...batches[0].checks, ...batches[1].checks];
  if (a === undefined || b === undefined || again === undefined || third === undefined)
    throw new Error("Checks are missing");
  const reads = [new KeyRead(a.key), new KeyRead(b.key)] as const;
  reads[0].add(a, calls[0]);
  reads[1].add(b, calls[0]);
  reads[1].add(again, calls[1]);
  reads[1].add(third, calls[1]);
  const command = new GetCommand({ replyError, notANumber: (key, data) => notNumbers.push(`${key}=${data}`) }, reads);
  return { command, batches, calls, notNumbers };
}

describe("GetCommand", () => {
  it("line() settles every check by its own addend, missing keys from 0", async () => {
    const { command, batches, calls } = get();
    expect(command.text).toBe("get a_4000000200 b_4000000200\r\n");
    command.value("b_4000000200", "10");
    command.line("END");
    expect(await batches[0].counts).toEqual([2, 13]);
    expect(await batches[1].counts).toEqual([15, 17]);
    expect(calls.map(({ found, error }) => ({ found, error }))).toEqual([
      { found: 1, error: undefined },
      { found: 1, error: undefined },
    ]);
  });

  it("case 143: value() counts from 0 and says so when the value is no number", async () => {
    const { command, batches, notNumbers } = get();
    command.value("a_4000000200", "abc");
    command.value("b_4000000200", undefined);
    command.line("END");
    expect(await batches[0].counts).toEqual([2, 3]);
    expect(notNumbers).toEqual(["a_4000000200=abc", "b_4000000200=undefined"]);
  });

  it("case 131: line() keeps what has come when the server refuses the rest", async () => {
    const { command, batches, calls } = get();
    command.value("a_4000000200", "10");
    command.line("SERVER_ERROR out of memory writing get response");
    expect(await batches[0].counts).toEqual([12, 3]);
    expect(calls[0].error?.message).toBe("SERVER_ERROR out of memory writing get response");
  });

  it("value() refuses an item that was not asked for, or that comes twice", () => {
    const { command } = get();
    expect(() => command.value("c", "1")).toThrow('the item "c" was not asked for');
    command.value("a_4000000200", "1");
    expect(() => command.value("a_4000000200", "1")).toThrow('the item "a_4000000200" was not asked for');
  });

  it.each(["ERROR", "STORED", "12", ""])("line() refuses '%s'", (line) => {
    expect(() => get().command.line(line)).toThrow(`the answer to get is ${JSON.stringify(line)}`);
  });

  it("value() and line() settle each check at most once, whatever the server answers", () => {
    const answer = fc.oneof(
      fc.record({
        key: fc.constantFrom("a_4000000200", "b_4000000200", "c"),
        data: fc.constantFrom("1", "x", undefined),
      }),
      fc.constantFrom("END", "SERVER_ERROR x", "ERROR", "1"),
    );
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 8 }), (answers) => {
        const { command, batches } = get(); // Its batches throw when they are answered twice.
        try {
          for (const each of answers) {
            if (typeof each === "string") {
              command.line(each);
              break;
            }
            command.value(each.key, each.data);
          }
        } catch (error) {
          if (!(error instanceof ProtocolError)) throw error;
        }
        command.lost(LOST);
        expect(batches.map(({ isAnswered }) => isAnswered)).toEqual([true, true]);
      }),
      { seed: 142, numRuns: 300 },
    );
  });
});
