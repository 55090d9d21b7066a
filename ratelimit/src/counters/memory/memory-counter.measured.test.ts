// The memory backend with a million keys: its memory, and the turns of the event loop meanwhile.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { FillReport } from "./memory-fill.suite.ts";

const MEBIBYTE = 2 ** 20;

describe("new MemoryCounter()", () => {
  it.each([
    { what: "window", mebibytes: 150 },
    { what: "bucket", mebibytes: 165 },
  ])(
    "takes at most $mebibytes MiB for a million keys of 60 bytes with a $what, and at most 5 ms in any turn while they come",
    async (row) => {
      const program = fileURLToPath(new URL("memory-fill.suite.ts", import.meta.url));
      const args = ["--conditions=source", "--expose-gc", program, row.what];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const report = JSON.parse(stdout) as FillReport;
      // Each key once with the count 1 and once with the count 2.
      expect(report.total).toBe(3_000_000);
      expect(report.rssBytes).toBeLessThanOrEqual(row.mebibytes * MEBIBYTE);
      expect(report.longestTurnMs).toBeLessThanOrEqual(5);
      expect(report.interruptedTurns).toBeLessThan(report.turns / 2);
    },
  );
});
