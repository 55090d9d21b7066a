// Tests of limited-log.ts under a clock that the test moves.
import { silentLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";

import { limitLog } from "./limited-log.ts";

describe("LimitedLog.warn()", () => {
  it("writes five lines in a second, and tells of the rest with the next line", () => {
    let nowMs = 10;
    const lines: unknown[] = [];
    const log = limitLog({ ...silentLog(), warn: (message, fields) => lines.push([message, fields]) }, () => nowMs);
    for (let count = 1; count <= 8; count += 1) log.warn("No", { count });
    nowMs = 1009;
    log.warn("No", { count: 9 });
    expect(lines).toEqual([1, 2, 3, 4, 5].map((count) => ["No", { count }]));
    nowMs = 1010;
    for (let count = 10; count <= 11; count += 1) log.warn("No", { count });
    expect(lines.slice(5)).toEqual([
      ["No", { count: 10, leftOut: 4 }],
      ["No", { count: 11 }],
    ]);
  });

  it("writes a line when there are too many of another kind", () => {
    const lines: unknown[] = [];
    const log = limitLog({ ...silentLog(), warn: (message, fields) => lines.push([message, fields]) }, () => 10);
    for (let count = 1; count <= 8; count += 1) log.warn("Could not connect", { count });
    log.warn("Not allowed", { count: 9 });
    expect(lines.slice(5)).toEqual([["Not allowed", { count: 9 }]]);
  });
});
