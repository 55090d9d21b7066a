// Commands as a server reads them in the buffer, and the memory of the buffer.
import { describe, expect, it } from "vitest";
import { CommandBuffer } from "./command-buffer.ts";
import { commandLines } from "./command-lines.suite.ts";

/** The bytes of a key in UTF-8. */
function size(key: string): number {
  return Buffer.byteLength(key);
}

describe("CommandBuffer", () => {
  it("encoded() has the commands in their order", () => {
    const buffer = new CommandBuffer();
    expect(buffer.isEmpty).toBe(true);
    buffer.asking();
    buffer.incrby("a", 1, 5);
    buffer.expire("ä", 2, 60);
    buffer.get("", 0);
    buffer.command("CLUSTER", "SLOTS");
    expect(buffer.isEmpty).toBe(false);
    expect(buffer.encoded().toString()).toBe(
      "*1\r\n$6\r\nasking\r\n*3\r\n$6\r\nincrby\r\n$1\r\na\r\n$1\r\n5\r\n*3\r\n$6\r\nexpire\r\n$2\r\nä\r\n$2\r\n60\r\n" +
        "*2\r\n$3\r\nget\r\n$0\r\n\r\n*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n",
    );
  });

  it("incrby() and the others take keys and numbers of any length", () => {
    const lengths = [0, 1, 2, 9, 10, 99, 100, 255, 256, 511, 512, 513, 2000];
    const keys = ["a", "ä", "€", "😀", "\r\n"].flatMap((unit) => lengths.map((length) => unit.repeat(length)));
    const numbers = [0, 1, 9, 10, 99, 100, 511, 512, 513, 4_294_967_296, 9_007_199_254_740_991];
    const buffer = new CommandBuffer();
    const lines: string[] = [];
    keys.forEach((key, index) => {
      const number = numbers[index % numbers.length] ?? 0;
      buffer.incrby(key, size(key), number);
      buffer.expire(key, size(key), number);
      buffer.get(key, size(key));
      lines.push(`INCRBY ${key} ${number}`, `EXPIRE ${key} ${number}`, `GET ${key}`);
    });
    expect(commandLines(buffer.encoded())).toEqual(lines);
  });

  it("incrby() takes keys of megabytes", () => {
    const buffer = new CommandBuffer();
    const keys = ["ä".repeat(1_000_000), "b".repeat(3_000_000), "c"];
    for (const key of keys) buffer.incrby(key, size(key), 1);
    expect(commandLines(buffer.encoded())).toEqual(keys.map((key) => `INCRBY ${key} 1`));
    buffer.clear(false);
    buffer.incrby("d", 1, 1);
    expect(commandLines(buffer.encoded())).toEqual(["INCRBY d 1"]);
  });

  it("clear() keeps the memory of commands that are in use, and reuses that of others", () => {
    const buffer = new CommandBuffer();
    const kept: { readonly bytes: Buffer; readonly text: string }[] = [];
    for (let write = 0; write < 2000; write++) {
      const key = `key-${write}`;
      buffer.incrby(key, size(key), write);
      const bytes = buffer.encoded();
      const isInUse = write % 3 === 0;
      if (isInUse) kept.push({ bytes, text: bytes.toString() });
      buffer.clear(isInUse);
      expect(buffer.isEmpty).toBe(true);
    }
    for (const { bytes, text } of kept) expect(bytes.toString()).toBe(text);
    expect(new Set(kept.map(({ bytes }) => bytes.buffer)).size).toBe(1);
  });
});
