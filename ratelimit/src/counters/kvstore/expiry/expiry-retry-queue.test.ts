// What waits of expiries, and how it is written.
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
    expect([late.isEmpty, late.write(buffer)?.replies, late.isEmpty, late.write(buffer)]).toEqual([
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
    expect(late.write(new CommandBuffer())?.replies).toBe(100_000);
  });
});
