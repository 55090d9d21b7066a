import { describe, expect, it } from "vitest";
import { decodeReply, encodeFrame, encodeReply, FrameReader, type Reply } from "./frames.ts";

const REPLIES: readonly Reply[] = [
  { kind: "ready" },
  { kind: "result", result: { ok: false, problem: "type" } },
  { kind: "result", result: { ok: false, problem: "complex" } },
  {
    kind: "result",
    result: { ok: true, image: { format: "webp", width: 4096, height: 16, bytes: Buffer.from("picture") } },
  },
];

describe("FrameReader and decodeReply()", () => {
  const written = Buffer.concat(REPLIES.flatMap(encodeReply));

  it.each([1, 2, 3, 5, 8, written.length])("read what encodeReply() wrote, %i bytes at a time", (size) => {
    const reader = new FrameReader(1000);
    const replies: (Reply | undefined)[] = [];
    for (let at = 0; at < written.length; at += size)
      replies.push(...reader.push(written.subarray(at, at + size)).map(decodeReply));
    expect(replies).toEqual(REPLIES);
  });

  it("take a payload of the limit and refuse one that says it is longer", () => {
    const [payload] = new FrameReader(5).push(Buffer.concat(encodeFrame(Buffer.from("five!"))));
    expect(payload?.toString()).toBe("five!");
    expect(() => new FrameReader(4).push(Buffer.from("00000005", "hex"))).toThrow(
      "Cannot read a frame of 5 bytes: at most 4",
    );
  });

  it.each(["", "03", "0001", "0105", "020005", "02", "01031000", "010010000010", "0209", "ff"])(
    "give nothing for the payload %s",
    (hex) => {
      expect(decodeReply(Buffer.from(hex, "hex"))).toBeUndefined();
    },
  );
});
