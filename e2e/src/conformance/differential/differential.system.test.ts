// Weir and envoyproxy/ratelimit over the same random rules and requests: the same answers, rules,
// statistics and counters.
import { afterAll, describe, expect, it } from "vitest";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { runDifferential } from "./differential.ts";

/** Any other number makes other rules and requests; `make differential` takes one at random. */
const SEED = 20_261_122;

const CONFIGURATIONS = 20;
const REQUESTS = 1000;

/** Longest time, with the wait for the next window, in milliseconds. */
const TIMEOUT_MS = 240_000;

describe("weir-ratelimit and envoyproxy/ratelimit", () => {
  const folder = makeTemporaryFolder();

  afterAll(() => folder.remove());

  it(
    `do the same for ${CONFIGURATIONS} random configurations with ${REQUESTS} requests each (seed ${SEED})`,
    async () => {
      const plan = { seed: SEED, configurations: CONFIGURATIONS, requests: REQUESTS };
      expect(await runDifferential(plan, folder.path)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
