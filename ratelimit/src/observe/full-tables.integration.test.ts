// Tests the memory that observation takes when everything is full.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { FullReport } from "./full-tables.suite.ts";

const RSS_MAX_BYTES = 24 * 1024 * 1024;

/** Those of bin/weir-ratelimit, and of the measurement. */
const FLAGS = [
  ...["--max-semi-space-size=8", "--initial-old-space-size=16", "--heap-growing-percent=100"],
  ...["--expose-gc", "--conditions=source"],
];

describe("TopKeys and ObservedRules", () => {
  it("take at most 24 MiB with 500 rules of 32 keys of 64 bytes", async () => {
    const program = join(import.meta.dirname, "full-tables.suite.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, program]);
    const { rssBytes, keys, series } = JSON.parse(stdout) as FullReport;
    expect({ keys, series }).toEqual({ keys: 500 * 32 * 2, series: 500 });
    expect(rssBytes).toBeLessThan(RSS_MAX_BYTES);
  });
});
