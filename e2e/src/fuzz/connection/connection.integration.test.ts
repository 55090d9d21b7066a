// 200,000 inputs for connections of the HTTP/2 server, the same at every run; `make fuzz` draws others.
import { describe, expect, it } from "vitest";

import { INPUT_KINDS, runInputs } from "./run-inputs.ts";

/** Inputs of one test, and tests of each kind of input. */
const INPUTS = 10_000;
const TESTS = 10;

/** One test takes 4 s on an idle core. */
const TIMEOUT_MS = 120_000;

describe.each(INPUT_KINDS)("a connection under $name", ({ make }) => {
  it.each(Array.from({ length: TESTS }, (_, seed) => ({ seed })))(
    `answers or closes with GOAWAY, and keeps nothing, ${INPUTS.toLocaleString("en")} times (seed $seed)`,
    ({ seed }) => {
      const ends = runInputs(make, seed, INPUTS);
      expect(ends.answers).toBeGreaterThan(INPUTS / 5);
      expect(ends.goaway).toBeGreaterThan(INPUTS / 5);
    },
    TIMEOUT_MS,
  );
});
