// Packing of lines.
import { describe, expect, it } from "vitest";
import { PacketQueue } from "./packet-queue.ts";

function takeAll(queue: PacketQueue): string[] {
  const texts: string[] = [];
  for (let text = queue.take(); text !== undefined; text = queue.take()) texts.push(text);
  return texts;
}

describe("PacketQueue", () => {
  it("add() fills packets up to their size in bytes and never cuts a line", () => {
    const queue = new PacketQueue(10);
    queue.add("abc\n", 3);
    queue.add("é\n", 1); // Three bytes.
    queue.add("longer than a packet\n", 2);
    queue.add("x\n", 1);
    queue.endPacket();
    expect(takeAll(queue)).toEqual([
      "abc\nabc\n",
      "abc\né\n",
      "longer than a packet\n",
      "longer than a packet\n",
      "x\n",
    ]);
    expect(queue.isEmpty).toBe(true);
  });

  it("endPacket() makes none when there is nothing", () => {
    const queue = new PacketQueue(10);
    queue.endPacket();
    expect(queue.take()).toBeUndefined();
  });

  it("add() drops what goes beyond 4 MiB, says so once, and takes more when there is room again", () => {
    const queue = new PacketQueue(65_536);
    queue.add(`${"x".repeat(1023)}\n`, 5000);
    expect([queue.hasDropped(), queue.hasDropped()]).toEqual([true, false]);
    queue.endPacket();
    expect(takeAll(queue).reduce((sum, text) => sum + text.length, 0)).toBe(4 * 1024 * 1024);
    queue.add("x\n", 1);
    expect(queue.hasDropped()).toBe(false);
  });
});
