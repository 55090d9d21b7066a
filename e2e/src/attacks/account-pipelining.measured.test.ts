// The account service next to clients that pipeline as fast as it answers: others are served, and memory
// is bounded.
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, describe, expect, it } from "vitest";
import { measureBesidePipelining } from "../benchmarks/account/pipelining.ts";
import { startService } from "../benchmarks/account/service.ts";

/** How long the clients pipeline, in milliseconds. */
const DURATION_MS = 5000;

/**
 * Bounds: of /healthz in milliseconds, far beyond that of the benchmark, for machines with other work; and
 * of memory in MiB.
 */
const P99_MAX_MS = 3000;
const RSS_GROWTH_MAX = 100;

const folder = makeTemporaryFolder();
const stops: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const stop of stops) await stop();
  folder.remove();
});

describe("weir-account next to 20 clients that pipeline", () => {
  it("serves others and bounds its memory", async () => {
    const service = await startService({ folder: folder.path, onStarted: (stop) => void stops.push(stop) });
    const { p99Ms, growthMib } = await measureBesidePipelining(service, DURATION_MS);
    expect(p99Ms).toBeLessThan(P99_MAX_MS);
    expect(growthMib).toBeLessThan(RSS_GROWTH_MAX);
  });
});
