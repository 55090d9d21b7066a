import { describe, expect, it } from "vitest";

import { enveloped, EnvelopeReader } from "./envelopes.ts";

const BYTES = new Uint8Array([
  ...[0, 0, 0, 0, 7, ...new TextEncoder().encode(`{"a":1}`)],
  ...[2, 0, 0, 0, 2, ...new TextEncoder().encode("{}")],
]);
const ENVELOPES = [
  { isEnd: false, json: { a: 1 } },
  { isEnd: true, json: {} },
];

describe("EnvelopeReader", () => {
  it.each([1, 2, 3, 7, 100])("read() puts messages together from pieces of %i bytes", (size) => {
    const reader = new EnvelopeReader();
    const pieces = Array.from({ length: Math.ceil(BYTES.length / size) }, (_, index) =>
      BYTES.subarray(index * size, (index + 1) * size),
    );
    expect(pieces.flatMap((piece) => reader.read(piece))).toEqual(ENVELOPES);
  });

  it("read() refuses a message that is too long", () => {
    const prefix = new Uint8Array([0, 5, 0, 0, 0]);
    expect(() => new EnvelopeReader().read(prefix)).toThrow(
      "Cannot read the stream: a message has 83886080 bytes, at most 67108864 are allowed",
    );
  });

  it("read() reads what enveloped() makes", () => {
    expect(new EnvelopeReader().read(enveloped({ text: "é" }))).toEqual([{ isEnd: false, json: { text: "é" } }]);
  });
});
