// The parser of replies against a straightforward decoder, on random replies cut in every way, and
// against bytes that are no replies: it stops, and holds no more than it may.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Reply } from "./reply.ts";
import { ReplyParser } from "./reply-parser.ts";

/** A parser and the replies that it has found, with errors as comparable values. */
class Found {
  readonly replies: unknown[] = [];
  malformed: string | undefined;
  readonly parser = new ReplyParser({
    reply: (reply) => {
      if (this.malformed !== undefined) throw new Error("A reply followed malformed bytes");
      this.replies.push(comparable(reply));
    },
    malformed: (reason) => {
      if (this.malformed !== undefined) throw new Error("The end was reported twice");
      this.malformed = reason;
    },
  });

  /** Parses chunks, from memory that is reused as that of a socket. */
  parse(...chunks: readonly Buffer[]): this {
    const memory = Buffer.alloc(Math.max(0, ...chunks.map(({ length }) => length)));
    for (const chunk of chunks) {
      chunk.copy(memory);
      this.parser.parse(memory, chunk.length);
      memory.fill("x");
    }
    return this;
  }
}

function comparable(reply: Reply): unknown {
  if (reply instanceof Error) return { error: reply.message };
  return Array.isArray(reply) ? (reply as readonly Reply[]).map(comparable) : reply;
}

/** Encodes a reply; numbers as integers, and texts as bulk strings. */
function encode(reply: unknown): string {
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${reply.length}\r\n${reply}\r\n`;
  if (Array.isArray(reply)) return `*${reply.length}\r\n${reply.map(encode).join("")}`;
  return `-${(reply as { error: string }).error}\r\n`;
}

/** A character for each byte. */
const text = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("latin1"));
const line = fc.string({ unit: "grapheme-ascii", maxLength: 40 });
const scalar = fc.oneof(
  fc.maxSafeInteger().map((number) => (number === 0 ? 0 : number)),
  text,
  fc.constant(null),
  line.map((error) => ({ error })),
);
const reply = fc.oneof(
  { weight: 5, arbitrary: scalar },
  fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })), { maxLength: 5 }),
);

describe("ReplyParser", () => {
  it.each([
    { bytes: ":0\r\n", found: 0 },
    { bytes: ":-1\r\n", found: -1 },
    { bytes: ":9223372036854775807\r\n", found: 2 ** 63 },
    { bytes: ":-9223372036854775808\r\n", found: -(2 ** 63) },
    { bytes: ":9007199254740991\r\n", found: 9_007_199_254_740_991 },
    { bytes: "+OK\r\n", found: "OK" },
    { bytes: "-ERR no such thing\r\n", found: { error: "ERR no such thing" } },
    { bytes: "$0\r\n\r\n", found: "" },
    { bytes: "$5\r\nä\r\nö$\r\n", found: "ä\r\nö$" },
    { bytes: "$-1\r\n", found: null },
    { bytes: "*-1\r\n", found: null },
    { bytes: "*0\r\n", found: [] },
    { bytes: "*3\r\n*2\r\n:1\r\n$-1\r\n*0\r\n-ERR x\r\n", found: [[1, null], [], { error: "ERR x" }] },
  ])("parse() finds $found in $bytes", ({ bytes, found }) => {
    expect(new Found().parse(Buffer.from(bytes, "latin1"))).toMatchObject({ replies: [found], malformed: undefined });
  });

  it("parse() finds the same replies whatever the chunks are", () => {
    fc.assert(
      fc.property(fc.array(reply, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 6 }), (replies, cuts) => {
        const bytes = Buffer.from(replies.map(encode).join(""), "latin1");
        const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
        const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        expect(new Found().parse(...chunks)).toMatchObject({ replies, malformed: undefined });
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  it("parse() finds the same replies when they are cut at any one byte, and when each byte comes alone", () => {
    fc.assert(
      fc.property(fc.array(reply, { minLength: 1, maxLength: 3 }), (replies) => {
        const bytes = Buffer.from(replies.map(encode).join(""), "latin1");
        for (let cut = 0; cut <= bytes.length; cut++)
          expect(new Found().parse(bytes.subarray(0, cut), bytes.subarray(cut)).replies).toEqual(replies);
        expect(new Found().parse(...[...bytes].map((byte) => Buffer.from([byte]))).replies).toEqual(replies);
      }),
      { seed: 11, numRuns: 20 },
    );
  });

  it.each([
    { bytes: "x", reason: "a reply begins with the byte 120" },
    { bytes: "%1\r\n+a\r\n+b\r\n", reason: "a reply begins with the byte 37" },
    { bytes: "\r\n", reason: "a reply begins with the byte 13" },
    { bytes: ":\r\n", reason: "a number has other characters than digits" },
    { bytes: ":-\r\n", reason: "a number has other characters than digits" },
    { bytes: ":1x\r\n", reason: "a number has other characters than digits" },
    { bytes: ":1\rx", reason: "a number has other characters than digits" },
    { bytes: ":1 ", reason: "a number has other characters than digits" },
    { bytes: ":12345678901234567890", reason: "a number is too long" },
    { bytes: "+OK\rx", reason: "a line does not end with CR and LF" },
    { bytes: "$x\r\n", reason: "a size is no number" },
    { bytes: "$-2\r\n", reason: "a size is no number" },
    { bytes: "$2\r\nabc\r\n", reason: "a text does not end with CR and LF" },
    { bytes: "$8388609\r\n", reason: "a text is too long" },
    { bytes: "*1\r\n".repeat(9), reason: "lists are nested too deeply" },
    { bytes: `+${"x".repeat(70_000)}`, reason: "a line is too long" },
    { bytes: ":1\r\n*2\r\n:1\r\n?", reason: "a reply begins with the byte 63" },
  ])("parse() says '$reason'", ({ bytes, reason }) => {
    expect(new Found().parse(Buffer.from(bytes)).malformed).toBe(reason);
    expect(new Found().parse(...[...Buffer.from(bytes)].map((byte) => Buffer.from([byte]))).malformed).toBe(reason);
  });

  it("parse() refuses a list whose elements are too long together, however many it announces", () => {
    const found = new Found().parse(Buffer.from("*1000000000\r\n"));
    const element = Buffer.from(`$65536\r\n${"x".repeat(65_536)}\r\n`);
    let elements = 0;
    for (; found.malformed === undefined && elements < 1000; elements++) found.parse(element);
    expect([found.malformed, elements]).toEqual(["a list is too long", 128]);
  });

  it("stop() parses nothing more, not even the rest of a chunk", () => {
    const replies: Reply[] = [];
    const parser = new ReplyParser({
      reply: (each) => {
        replies.push(each);
        parser.stop();
      },
      malformed: () => undefined,
    });
    const bytes = Buffer.from(":1\r\n:2\r\n");
    parser.parse(bytes, bytes.length);
    parser.parse(bytes, bytes.length);
    expect(replies).toEqual([1]);
  });

  it("parse() never throws and never finds anything after malformed bytes, whatever the bytes are", () => {
    fc.assert(
      fc.property(
        fc.array(reply, { maxLength: 5 }),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        fc.uint8Array({ maxLength: 30 }),
        fc.nat(),
        (replies, mutations, noise, cut) => {
          const bytes = Buffer.concat([Buffer.from(replies.map(encode).join(""), "latin1"), noise]);
          for (const [at, byte] of mutations) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          const half = cut % (bytes.length + 1);
          const whole = new Found().parse(bytes);
          const halves = new Found().parse(bytes.subarray(0, half), bytes.subarray(half));
          expect(halves.replies).toEqual(whole.replies);
          expect(halves.malformed).toBe(whole.malformed);
        },
      ),
      { seed: 13, numRuns: 1000 },
    );
  });
});
