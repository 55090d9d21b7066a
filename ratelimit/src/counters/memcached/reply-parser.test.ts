// The results of the parser from whole replies, from replies cut anywhere, and from bytes that are none.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProtocolError, ReplyParser } from "./reply-parser.ts";

/** Fixed, so that a failure comes again. */
const FUZZ = { seed: 11_211, numRuns: 500 };

/** Pushes the chunks into a new parser and notes what it reports. */
function parse(...chunks: readonly (string | Uint8Array)[]): {
  readonly reported: readonly string[];
  readonly problem: string | undefined;
} {
  const reported: string[] = [];
  const parser = new ReplyParser({
    value: (key, data) => void reported.push(`${key}=${data}`),
    line: (line) => void reported.push(line),
  });
  try {
    for (const chunk of chunks) parser.push(Buffer.from(chunk as string));
    return { reported, problem: undefined };
  } catch (error) {
    if (error instanceof ProtocolError) return { reported, problem: error.message };
    throw error;
  }
}

const REPLIES = [
  "VALUE a 0 2\r\n10\r\nVALUE ü_😀_4000000200 0 1\r\n7\r\nEND\r\n",
  "VALUE tricky 0 5\r\nEND\r\n\r\nVALUE empty 12 0\r\n\r\nEND\r\n",
  `VALUE long 0 70\r\n${"x".repeat(66)}\r\n\r\n\r\nVALUE b 0 1 77\r\n1\r\nEND\r\n`,
  "12\r\nNOT_FOUND\r\nSTORED\r\nNOT_STORED\r\nVERSION 1.6.18\r\nERROR\r\nSERVER_ERROR out of memory\r\n",
].join("");

const REPORTED = [
  "a=10",
  "ü_😀_4000000200=7",
  "END",
  "tricky=END\r\n",
  "empty=",
  "END",
  "long=undefined",
  "b=1",
  "END",
  "12",
  "NOT_FOUND",
  "STORED",
  "NOT_STORED",
  "VERSION 1.6.18",
  "ERROR",
  "SERVER_ERROR out of memory",
];

describe("ReplyParser", () => {
  it("push() reports values and lines when replies come whole", () => {
    expect(parse(REPLIES)).toEqual({ reported: REPORTED, problem: undefined });
  });

  it("push() reports the same when replies are cut at every byte", () => {
    const bytes = Buffer.from(REPLIES);
    for (let at = 0; at <= bytes.length; at++) {
      expect(parse(bytes.subarray(0, at), bytes.subarray(at))).toEqual({ reported: REPORTED, problem: undefined });
    }
    expect(parse(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual({
      reported: REPORTED,
      problem: undefined,
    });
  });

  it("push() reports the same when replies come in pieces of any size", () => {
    const bytes = Buffer.from(REPLIES);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (cuts) => {
        const ends = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = ends.slice(1).map((end, index) => bytes.subarray(ends[index], end));
        expect(parse(...chunks)).toEqual({ reported: REPORTED, problem: undefined });
      }),
      FUZZ,
    );
  });

  it.each([
    { name: "a line without CR", bytes: "END\n", problem: "a line does not end in CR LF" },
    { name: "an empty line", bytes: "\n", problem: "a line does not end in CR LF" },
    { name: "a line without end", bytes: "x".repeat(2000), problem: "a line is longer than 1024 bytes" },
    { name: "a line that is too long", bytes: `${"x".repeat(1025)}\r\n`, problem: "a line is longer than 1024 bytes" },
    { name: "an item without length", bytes: "VALUE a 0\r\n", problem: 'an item begins with "VALUE a 0"' },
    {
      name: "an item with a negative length",
      bytes: "VALUE a 0 -1\r\n",
      problem: 'an item begins with "VALUE a 0 -1"',
    },
    {
      name: "an item of more than a gibibyte",
      bytes: "VALUE a 0 9999999999\r\n",
      problem: 'an item begins with "VALUE a 0 9999999999"',
    },
    {
      name: "a value that is longer than said",
      bytes: "VALUE a 0 1\r\n10\r\n",
      problem: 'the value of "a" does not end in CR LF',
    },
    {
      name: "a long value that is longer than said",
      bytes: `VALUE a 0 70\r\n${"x".repeat(80)}\r\n`,
      problem: 'the value of "a" does not end in CR LF',
    },
  ])("push() stops at $name", ({ bytes, problem }) => {
    expect(parse(bytes, "END\r\n")).toEqual({ reported: [], problem });
  });

  it("push() throws the error of its listener", () => {
    const reported: string[] = [];
    const value = (): never => {
      throw new ProtocolError("unasked");
    };
    const parser = new ReplyParser({ value, line: (line) => void reported.push(line) });
    expect(() => parser.push(Buffer.from("first\r\nVALUE a 0 1\r\n1\r\nsecond\r\n"))).toThrow("unasked");
    expect(reported).toEqual(["first"]);
  });

  it("push() takes a value of many mebibytes", () => {
    const chunk = Buffer.alloc(2 ** 20, "x");
    const chunks = Array.from({ length: 64 }, () => chunk);
    const { reported, problem } = parse(`VALUE a 0 ${64 * 2 ** 20}\r\n`, ...chunks, "\r\nEND\r\n");
    expect({ reported, problem }).toEqual({ reported: ["a=undefined", "END"], problem: undefined });
  });

  it("push() neither throws nor hangs when bytes are random", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc
        .constantFrom(
          "VALUE ",
          "a 0 1",
          "\r\n",
          "\n",
          "END\r\n",
          "VALUE k 0 2\r\n12\r\n",
          "VALUE k 0 99\r\n",
          "ERROR\r\n",
        )
        .map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (chunks) => {
        const whole = parse(Buffer.concat(chunks));
        const cut = parse(...chunks);
        expect(cut.reported).toEqual(whole.reported);
        expect(cut.problem).toBe(whole.problem);
      }),
      FUZZ,
    );
  });
});
