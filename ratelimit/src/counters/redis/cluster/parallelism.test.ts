// The arithmetic of KVSTORE_CLUSTER_PIPELINE_PARALLELISM. A negative number stops the start, where
// the settings are read.
import { describe, expect, it } from "vitest";
import { effectiveParallelism } from "./parallelism.ts";

describe("effectiveParallelism()", () => {
  it.each([
    { configured: 1, poolSize: 10, effective: 1 },
    { configured: 0, poolSize: 10, effective: 10 },
    { configured: 8, poolSize: 10, effective: 8 },
    { configured: 20, poolSize: 10, effective: 10 },
    { configured: 0, poolSize: 0, effective: 1 },
  ])("case 124: effectiveParallelism() gives $effective when $configured is set and the pool has $poolSize", (row) => {
    expect(effectiveParallelism(row.configured, row.poolSize)).toBe(row.effective);
  });
});
