// The fuzzer's own parts: that a seed says everything, and that what it calls good is.
import { Random } from "@weir/harness/processes/random";
import { INPUT_KINDS } from "@weir/http2/fuzz/inputs.suite";
import { describe, expect, it } from "vitest";

import { brokenRequest, goodRequest, oddRequest } from "./http1-inputs.suite.ts";

const TARGET = { paths: ["/json"], body: '{"domain":"d"}' } as const;

function inputsOf(seed: number): readonly string[] {
  const random = new Random(seed);
  return Array.from({ length: 50 }, () => [
    brokenRequest(random, TARGET),
    oddRequest(random, TARGET),
    ...INPUT_KINDS.map(({ make }) => make(random)),
  ]).map((inputs) => Buffer.concat(inputs).toString("hex"));
}

describe("the fuzzer's inputs", () => {
  it("are the same for the same seed, and others for another", () => {
    expect(inputsOf(7)).toEqual(inputsOf(7));
    const other = new Set(inputsOf(8));
    expect(inputsOf(7).filter((input) => other.has(input))).toEqual([]);
  });

  it("goodRequest() is a whole request", () => {
    expect(goodRequest(TARGET).toString()).toBe(
      'POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n{"domain":"d"}',
    );
  });
});
