// The expiries that wait, and how they are written.
import { describe, expect, it } from "vitest";
import { CommandBuffer } from "../connection/command-buffer.ts";
import { commandLines } from "../connection/command-lines.suite.ts";
import { ExpiryRetryQueue } from "./expiry-retry-queue.ts";

describe("ExpiryRetryQueue", () => {
  it("write() writes each once, in their order, and expects a reply to ASKING, too", () => {
    const late = new ExpiryRetryQueue();
    late.add({ key: "a", seconds: 60 }, false);
    late.add({ key: "b", seconds: 61 }, true);
    const buffer = new CommandBuffer();
    expect([late.isEmpty, late.write(buffer, 5)?.replies, late.isEmpty, late.write(buffer, 5)]).toEqual([
      false,
      3,
      true,
      undefined,
    ]);
    expect(commandLines(buffer.encoded())).toEqual(["EXPIRE a 60", "ASKING", "EXPIRE b 61"]);
  });

  it("add() accepts at most a hundred thousand", () => {
    const late = new ExpiryRetryQueue();
    for (let number = 0; number < 100_010; number++) late.add({ key: "a", seconds: 60 }, false);
    expect(late.write(new CommandBuffer(), 99_000)?.replies).toBe(99_000);
    expect(late.write(new CommandBuffer(), 99_000)?.replies).toBe(1000);
  });
});
