// Lines that are written, and those that are only counted.
import { createLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";
import { ThrottledLog } from "./throttled-log.ts";

describe("ThrottledLog", () => {
  it("error() writes a message once in ten seconds and says how many lines it left out", () => {
    const lines: string[] = [];
    let nowMs = 1000;
    const log = new ThrottledLog(
      createLog({ level: "error", format: "text", write: (line) => lines.push(line) }),
      () => nowMs,
    );
    log.error("first", { number: 1 });
    log.error("second", { number: 2 });
    for (nowMs of [1000, 5000, 10_999]) log.error("first", { number: 3 });
    nowMs = 11_000;
    log.error("first", { number: 4 });
    expect(lines.map((line) => line.replace(/^.*?msg=/, "").trim())).toEqual([
      '"first" number=1',
      '"second" number=2',
      '"first" number=4 suppressed=3',
    ]);
  });
});
