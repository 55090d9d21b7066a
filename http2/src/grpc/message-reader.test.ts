// Tests of cutting DATA into gRPC messages.
import { describe, expect, it } from "vitest";

import { ByteBudget } from "../limits/byte-budget.ts";
import { isWholeMessage, MessageReader, writeMessagePrefix } from "./message-reader.ts";

function message(content: string | Buffer, flag = 0): Buffer {
  const bytes = Buffer.from(content);
  const prefix = Buffer.alloc(5);
  writeMessagePrefix(prefix, 0, bytes.length);
  prefix[0] = flag;
  return Buffer.concat([prefix, bytes]);
}

function createReader(maxBytes = 1000, memoryBytes = 1_000_000) {
  const memory = new ByteBudget(memoryBytes);
  const messages: string[] = [];
  const reader = new MessageReader(maxBytes, memory);
  const receiver = {
    message: (bytes: Buffer, start: number, end: number) => void messages.push(bytes.toString("latin1", start, end)),
  };
  return { memory, messages, reader, read: (bytes: Buffer) => reader.read(bytes, 0, bytes.length, receiver) };
}

describe("isWholeMessage()", () => {
  it.each([
    [message("abc"), true],
    [message(""), true],
    [message("abc", 1), false],
    [message("abc").subarray(0, 7), false],
    [Buffer.concat([message("abc"), Buffer.alloc(1)]), false],
    [Buffer.alloc(4), false],
  ])("of %j is %s", (bytes, expected) => {
    expect(isWholeMessage(bytes, 0, bytes.length)).toBe(expected);
  });
});

describe("MessageReader", () => {
  const contents = ["one", "", "x".repeat(400), "four"];
  const bytes = Buffer.concat(contents.map((content) => message(content)));

  it.each([1, 2, 4, 5, 6, 9, 100, 1000])("reads the same messages from pieces of %i bytes", (size) => {
    const { read, messages, memory, reader } = createReader();
    for (let offset = 0; offset < bytes.length; offset += size)
      expect(read(bytes.subarray(offset, offset + size))).toBeUndefined();
    expect(messages).toEqual(contents);
    expect(reader.isBetweenMessages).toBe(true);
    expect(memory.usedBytes).toBe(0);
  });

  it("takes no memory for messages that lie in one piece", () => {
    const { read, messages } = createReader(1000, 0);
    expect(read(bytes)).toBeUndefined();
    expect(messages).toEqual(contents);
  });

  it("takes memory for what is received, not for what is claimed", () => {
    const { read, memory } = createReader(1_000_000);
    read(message(Buffer.alloc(900_000)).subarray(0, 10));
    expect(memory.usedBytes).toBe(1024);
    read(Buffer.alloc(600_000));
    read(Buffer.alloc(100));
    expect(memory.usedBytes).toBe(900_005); // Not twice what was there.
  });

  it.each([
    ["a compressed message", message("abc", 1), { kind: "compressed" }],
    ["an unknown flag", message("abc", 2), { kind: "compressed" }],
    ["a message above the largest size", message("x".repeat(1001)), { kind: "too large", lengthBytes: 1001 }],
    ["a length of 2^32-1", Buffer.from("00ffffffff", "hex"), { kind: "too large", lengthBytes: 0xffff_ffff }],
  ])("refuses %s, in one piece or byte by byte", (_, faulty, fault) => {
    expect(createReader().read(faulty)).toEqual(fault);
    const { read, messages } = createReader();
    const found = Array.from(faulty.subarray(0, 5), (byte) => read(Buffer.from([byte])));
    expect(found).toEqual([undefined, undefined, undefined, undefined, fault]);
    expect(messages).toEqual([]);
  });

  it("refuses a message without memory left, and gives back what it had", () => {
    const { read, memory, reader } = createReader(10_000, 3000);
    const long = message(Buffer.alloc(4000));
    expect(read(long.subarray(0, 2000))).toBeUndefined();
    expect(read(long.subarray(2000, 3500))).toEqual({ kind: "no memory" });
    reader.free();
    expect(memory.usedBytes).toBe(0);
  });
});
