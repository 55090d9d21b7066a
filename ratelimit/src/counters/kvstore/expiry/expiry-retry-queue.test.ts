// What waits of expiries, and how it is written.
import { describe, expect, it } from "vitest";
import type { CommandSink } from "../connection/command-sink.ts";
import { ExpiryRetryQueue } from "./expiry-retry-queue.ts";

/** A sink for two kinds of commands, which it notes. */
function createSink(): CommandSink & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  const unexpected = (): never => {
    throw new Error("Neither EXPIRE nor ASKING");
  };
  return {
    lines,
    expire: (key, seconds) => lines.push(`EXPIRE ${key} ${seconds}`),
    asking: () => lines.push("ASKING"),
    incrby: unexpected,
    get: unexpected,
    call: unexpected,
  };
}

describe("ExpiryRetryQueue", () => {
  it("write() writes each once, in their order, and counts ASKING as a command", () => {
    const late = new ExpiryRetryQueue();
    late.add({ key: "a", seconds: 60 }, false);
    late.add({ key: "b", seconds: 61 }, true);
    const sink = createSink();
    expect([late.isEmpty, late.write(sink), late.isEmpty, late.write(sink)]).toEqual([false, 3, true, 0]);
    expect(sink.lines).toEqual(["EXPIRE a 60", "ASKING", "EXPIRE b 61"]);
  });

  it("add() accepts at most a hundred thousand", () => {
    const late = new ExpiryRetryQueue();
    for (let number = 0; number < 100_010; number++) late.add({ key: "a", seconds: 60 }, false);
    expect(late.write(createSink())).toBe(100_000);
  });
});
