// Edges of calendar months.
import { describe, expect, it } from "vitest";
import { CalendarMonths } from "./calendar-month.ts";

function seconds(iso: string): number {
  return Date.parse(iso) / 1000;
}

describe("CalendarMonths", () => {
  it("at() gives the first and the next first in UTC, whatever was asked before", () => {
    const months = new CalendarMonths();
    const rows = [
      ["2026-11-23T15:00:00Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
      ["2026-11-30T23:59:59Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
      ["2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
      ["2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
      ["2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
    ] as const;
    for (const [now, start, end] of rows)
      expect(months.at(seconds(now)), now).toEqual({ startSeconds: seconds(start), endSeconds: seconds(end) });
    expect(months.at(1_795_446_000).startSeconds).toBe(1_793_491_200);
  });
});
