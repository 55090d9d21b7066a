// The fuzzer's own parts: that a seed says everything, and that what it calls good is.
import { describe, expect, it } from "vitest";

import { brokenRequest, goodRequest, oddRequest } from "./http1-inputs.ts";
import { openingBytes } from "@weir/harness/http2/http2-frames";
import { brokenFrames, brokenMessage, createPongReader, goodCall, noSession, ping } from "./http2-inputs.ts";
import { mutate } from "./mutation.ts";
import { Random } from "@weir/harness/processes/random";

const TARGET = { paths: ["/json"], body: '{"domain":"d"}' } as const;

function inputsOf(seed: number): readonly string[] {
  const random = new Random(seed);
  return Array.from({ length: 50 }, (_, index) => [
    brokenRequest(random, TARGET),
    oddRequest(random, TARGET),
    brokenFrames(random, 2 * index + 1),
    brokenMessage(random, 2 * index + 1),
    noSession(random),
  ]).map((inputs) => Buffer.concat(inputs).toString("hex"));
}

describe("the fuzzer's inputs", () => {
  it("Random gives the same inputs for the same seed, and others for another", () => {
    expect(inputsOf(7)).toEqual(inputsOf(7));
    const other = new Set(inputsOf(8));
    expect(inputsOf(7).filter((input) => other.has(input))).toEqual([]);
  });

  it("Random.between() reaches both ends and nothing else", () => {
    const random = new Random(1);
    const seen = new Set(Array.from({ length: 1000 }, () => random.between(3, 6)));
    expect([...seen].sort()).toEqual([3, 4, 5, 6]);
  });

  it("mutate() leaves its input alone and stays within 64 KiB", () => {
    const random = new Random(2);
    const bytes = Buffer.alloc(60_000, "ab");
    for (let run = 0; run < 100; run++) expect(mutate(random, bytes, 5).length).toBeLessThanOrEqual(65_536);
    expect(bytes.equals(Buffer.alloc(60_000, "ab"))).toBe(true);
  });

  it("goodRequest() is a whole request", () => {
    expect(goodRequest(TARGET).toString()).toBe(
      'POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n{"domain":"d"}',
    );
  });

  it("goodCall() is a HEADERS and a DATA frame that ends the stream", () => {
    const bytes = goodCall(5);
    const dataAt = 9 + bytes.readUIntBE(0, 3);
    expect([bytes[3], bytes[4], bytes.readUInt32BE(5)]).toEqual([1, 0x4, 5]);
    expect([bytes[dataAt + 3], bytes[dataAt + 4], bytes.readUInt32BE(dataAt + 5)]).toEqual([0, 0x1, 5]);
    expect(bytes).toHaveLength(dataAt + 9 + bytes.readUIntBE(dataAt, 3));
  });

  it("createPongReader() reports answered pings, however the bytes are cut, and nothing else", () => {
    const answer = ping(258);
    answer[4] = 0x1;
    const seen: number[] = [];
    const read = createPongReader((number) => seen.push(number));
    const bytes = Buffer.concat([openingBytes().subarray(24), ping(7), answer, goodCall(1), answer]);
    for (const byte of bytes) read(Buffer.from([byte]));
    expect(seen).toEqual([258, 258]);
  });
});
