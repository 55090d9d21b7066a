// Tests of putting header blocks together.
import { describe, expect, it } from "vitest";

import { Flag } from "../frames/frame.ts";
import { ByteBudget } from "../limits/byte-budget.ts";
import { createCounters } from "../limits/counters.ts";
import { DEFAULT_LIMITS } from "../limits/limits.ts";
import { HeaderAssembly } from "./header-assembly.ts";

function createAssembly() {
  const blocks: string[] = [];
  const budget = new ByteBudget(1_000_000);
  const limits = { ...DEFAULT_LIMITS, continuationFramesMax: 3, headerBlockMaxBytes: 20 };
  const receiver = {
    block: (streamId: number, isLast: boolean, bytes: Buffer, start: number, end: number) =>
      void blocks.push(`${streamId} ${isLast} ${bytes.toString("latin1", start, end)}`),
  };
  const assembly = new HeaderAssembly({ receiver, budget, limits, counters: createCounters() });
  const headers = (flags: number, payload: string) =>
    assembly.headers(flags, 1, Buffer.from(payload, "latin1"), 0, payload.length);
  const continuation = (flags: number, payload: string) =>
    assembly.continuation(flags, 1, Buffer.from(payload, "latin1"), 0, payload.length);
  return { assembly, blocks, budget, headers, continuation };
}

describe("HeaderAssembly", () => {
  it.each([
    [Flag.END_HEADERS, "block", "1 false block"],
    [Flag.END_HEADERS | Flag.END_STREAM, "block", "1 true block"],
    [Flag.END_HEADERS | Flag.PADDED, "\x03blockpad", "1 false block"],
    [Flag.END_HEADERS | Flag.PRIORITY, "\0\0\0\x03\x10block", "1 false block"],
    [Flag.END_HEADERS | Flag.PADDED | Flag.PRIORITY, "\x03\0\0\0\x03\x10blockpad", "1 false block"],
  ])("passes on a block in one frame with flags %i", (flags, payload, expected) => {
    const { blocks, headers, budget } = createAssembly();
    headers(flags, payload);
    expect(blocks).toEqual([expected]);
    expect(budget.usedBytes).toBe(0);
  });

  it("joins the frames of a block, which count as memory until then", () => {
    const { assembly, blocks, headers, continuation, budget } = createAssembly();
    headers(Flag.END_STREAM | Flag.PADDED, "\x03onepad");
    continuation(0, "two");
    expect([assembly.isOpen, assembly.keptBytes, budget.usedBytes]).toEqual([true, 6, 6]);
    continuation(Flag.END_HEADERS, "three");
    expect(blocks).toEqual(["1 true onetwothree"]);
    expect([assembly.isOpen, assembly.keptBytes, budget.usedBytes]).toEqual([false, 0, 0]);
  });

  it("allows as many frames and bytes as the limits say", () => {
    const { headers, continuation, blocks } = createAssembly();
    headers(0, "x".repeat(5));
    for (let index = 0; index < 3; index++) continuation(index === 2 ? Flag.END_HEADERS : 0, "x".repeat(5));
    expect(blocks).toHaveLength(1);
    headers(0, "");
    for (let index = 0; index < 3; index++) continuation(0, "");
    expect(() => continuation(0, "")).toThrow("A header block is too long");
  });

  it("frees an incomplete block", () => {
    const { assembly, headers, budget } = createAssembly();
    headers(0, "abc");
    assembly.free();
    expect([assembly.isOpen, budget.usedBytes]).toEqual([false, 0]);
  });

  it("refuses CONTINUATION of another stream, and priority without its bytes", () => {
    const { assembly, headers } = createAssembly();
    expect(() => headers(Flag.END_HEADERS | Flag.PRIORITY, "abcd")).toThrow("HEADERS is too short");
    headers(0, "abc");
    expect(() => assembly.continuation(0, 3, Buffer.alloc(0), 0, 0)).toThrow("CONTINUATION follows no HEADERS");
  });
});
