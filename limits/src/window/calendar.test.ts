// Edges of calendar windows, and the same found by walking through days with Intl.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CalendarOptions, type CalendarUnit, CalendarWindows, calendarWindowsOf, UTC_MONTHS } from "./calendar.ts";

const DAY_SECONDS = 86_400;

/** Between two moments of which the reference compares the dates. Offsets are multiples of it since 1990. */
const STEP_SECONDS = 900;

/** Zones with a day without midnight, with two of them, without one day, and with odd offsets; and such a time. */
const ODD_TIMES = [
  ["Africa/Cairo", "2026-04-24T00:00:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00:00Z"], // From midnight to 1 o'clock.
  ["America/St_Johns", "2006-10-29T02:31:00Z"], // From one minute past midnight back to the day before.
  ["America/Havana", "2026-11-01T05:00:00Z"], // From 1 o'clock to midnight.
  ["Asia/Amman", "2021-10-28T22:00:00Z"], // From 1 o'clock to midnight, on a Friday.
  ["Pacific/Apia", "2011-12-30T10:00:00Z"], // Without 30 December.
  ["Pacific/Kiritimati", "1994-12-31T10:00:00Z"], // Without 31 December.
  ["Antarctica/Casey", "2010-03-04T15:00:00Z"], // From 2 o'clock to 23 o'clock of the day before.
  ["Antarctica/Vostok", "1994-01-31T17:00:00Z"], // Seven hours back, over the end of a month.
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"], // Half an hour back.
  ["Asia/Kathmandu", "2026-01-01T00:00:00Z"],
] as const;

const options = fc
  .record({
    unit: fc.constantFrom<CalendarUnit>("DAY", "WEEK", "MONTH", "MONTH", "YEAR"),
    timeZone: fc.oneof(
      fc.constantFrom("UTC", ...Intl.supportedValuesOf("timeZone")),
      fc.constantFrom(...ODD_TIMES.map(([zone]) => zone)),
    ),
    multiplier: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 24 })),
    monthDay: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 31 })),
  })
  .map((each): CalendarOptions => (each.unit === "MONTH" ? each : { ...each, multiplier: 1, monthDay: 1 }));

const time = fc.integer({ min: seconds("1990-01-01T00:00:00Z"), max: seconds("2100-12-31T00:00:00Z") });

function seconds(iso: string): number {
  return Date.parse(iso) / 1000;
}

describe("CalendarWindows", () => {
  it.each<[Partial<CalendarOptions>, string, { start: number; reset?: number; length?: number }]>([
    [{}, "2026-11-23T15:00:00Z", { start: 1_793_491_200, reset: 637_200 }],
    [{ timeZone: "Europe/Zurich" }, "2026-11-23T15:00:00Z", { start: 1_793_487_600, reset: 633_600 }],
    [{ timeZone: "Asia/Shanghai" }, "2026-11-23T15:00:00Z", { start: 1_793_462_400, reset: 608_400 }],
    [{ timeZone: "America/New_York" }, "2026-11-23T15:00:00Z", { start: 1_793_505_600, reset: 655_200 }],
    [{ unit: "WEEK", timeZone: "Europe/Zurich" }, "2026-11-23T15:00:00Z", { start: 1_795_388_400, reset: 547_200 }],
    [{ multiplier: 3, timeZone: "Europe/Zurich" }, "2026-11-23T15:00:00Z", { start: 1_790_805_600, reset: 3_312_000 }],
    [{ monthDay: 15, timeZone: "Europe/Zurich" }, "2026-11-23T15:00:00Z", { start: 1_794_697_200, reset: 1_843_200 }],
    // The 31st is the 28th in February.
    [{ monthDay: 31 }, "2026-02-28T12:00:00Z", { start: 1_772_236_800, length: 31 * DAY_SECONDS }],
    [{ monthDay: 31 }, "2026-02-27T12:00:00Z", { start: 1_769_817_600, length: 28 * DAY_SECONDS }],
    [{ monthDay: 31 }, "2028-02-29T00:00:00Z", { start: seconds("2028-02-29T00:00:00Z"), length: 31 * DAY_SECONDS }],
    // Days of 23 and 25 hours; in Cairo the one without midnight.
    [{ unit: "DAY", timeZone: "Europe/Zurich" }, "2026-03-29T12:00:00Z", { start: 1_774_738_800, length: 82_800 }],
    [{ unit: "DAY", timeZone: "Europe/Zurich" }, "2026-10-25T12:00:00Z", { start: 1_792_879_200, length: 90_000 }],
    [{ unit: "DAY", timeZone: "Africa/Cairo" }, "2026-04-24T12:00:00Z", { start: 1_776_981_600, length: 82_800 }],
    [{ unit: "DAY", timeZone: "Europe/Zurich" }, "2026-11-23T15:00:00Z", { start: 1_795_388_400, length: 86_400 }],
    [{ unit: "YEAR" }, "2028-12-31T23:59:59Z", { start: seconds("2028-01-01T00:00:00Z"), reset: 1 }],
    [{ unit: "YEAR", timeZone: "Asia/Tokyo" }, "2026-12-31T15:00:00Z", { start: seconds("2026-12-31T15:00:00Z") }],
    // Months that do not divide the year are counted from January 1970: 675 months before April 2026.
    [{ multiplier: 5 }, "2026-07-31T00:00:00Z", { start: seconds("2026-04-01T00:00:00Z"), length: 153 * DAY_SECONDS }],
    [{ multiplier: 24 }, "2027-11-23T15:00:00Z", { start: seconds("2026-01-01T00:00:00Z"), length: 730 * DAY_SECONDS }],
    [{ multiplier: 6, monthDay: 15 }, "2026-01-14T00:00:00Z", { start: seconds("2025-07-15T00:00:00Z") }],
  ])("at() of %o at %s gives %o", (part, now, expected) => {
    const { startSeconds, endSeconds } = new CalendarWindows({ ...UTC_MONTHS, ...part }).at(seconds(now));
    expect({
      start: startSeconds,
      ...(expected.reset !== undefined && { reset: endSeconds - seconds(now) }),
      ...(expected.length !== undefined && { length: endSeconds - startSeconds }),
    }).toEqual(expected);
  });

  it("at() gives the same windows as walking through days, and they are next to each other", () => {
    fc.assert(fc.property(options, time, expectWindow), { numRuns: 200 });
  });

  it.each(ODD_TIMES)("at() gives the days of %s around %s", (timeZone, odd) => {
    for (const unit of ["DAY", "MONTH"] as const) {
      const each = { ...UTC_MONTHS, unit, timeZone };
      for (let hours = -50; hours <= 50; hours += 2.5) expectWindow(each, seconds(odd) + hours * 3600);
      for (const near of [-60, -59, -1, 0, 1, 59, 60]) expectWindow(each, seconds(odd) + near);
    }
  });

  it("at() keeps the window, and finds others when the clock is set back", () => {
    const months = new CalendarWindows({ ...UTC_MONTHS, timeZone: "Europe/Zurich" });
    const november = months.at(1_795_446_000);
    expect(months.at(1_795_446_001)).toBe(november);
    expect(months.at(november.endSeconds)).toEqual({ startSeconds: november.endSeconds, endSeconds: 1_798_758_000 });
    expect(months.at(november.startSeconds - 1).endSeconds).toBe(november.startSeconds);
    expect(months.at(1_795_446_000)).toEqual(november);
  });

  it("the constructor refuses a time zone that does not exist", () => {
    expect(() => new CalendarWindows({ ...UTC_MONTHS, timeZone: "Europe/Bern" })).toThrow(RangeError);
  });
});

describe("calendarWindowsOf()", () => {
  it.each([
    [{ unit: "month", timeZone: "Europe/Zurich", unitMultiplier: 3, monthDay: 15 }, seconds("2026-10-14T22:00:00Z")],
    [{ unit: "Day", timeZone: "UTC" }, seconds("2026-11-23T00:00:00Z")],
    [{ unit: "month" }, undefined],
    [{ unit: "hour", timeZone: "UTC" }, undefined],
  ])("of %o begins at %s", (part, start) => {
    const limit = { requestsPerUnit: 1, unlimited: false, name: "", replaces: [], ...part };
    expect(calendarWindowsOf(limit)?.at(1_795_446_000).startSeconds).toBe(start);
  });
});

/** Compares the window at a moment, the one before and the one after, with what Intl says. */
function expectWindow(each: CalendarOptions, now: number): void {
  const windows = new CalendarWindows(each);
  const window = windows.at(now);
  expect(window, `${JSON.stringify(each)} at ${now}`).toEqual(referenceWindow(each, now));
  const { startSeconds, endSeconds } = window;
  expect(endSeconds - startSeconds).toBeLessThanOrEqual(windows.maxSeconds);
  for (const edge of [startSeconds, endSeconds - 1]) expect(new CalendarWindows(each).at(edge)).toEqual(window);
  expect(windows.at(endSeconds).startSeconds).toBe(endSeconds);
  expect(windows.at(startSeconds - 1).endSeconds).toBe(startSeconds);
}

/** The window between the last day that begins one and has begun, and the next. Days are counted since the epoch. */
function referenceWindow(each: CalendarOptions, now: number): { startSeconds: number; endSeconds: number } {
  let first = Math.floor(now / DAY_SECONDS) + 2;
  while (!isFirstDay(each, first) || startOf(each.timeZone, first) > now) first -= 1;
  let last = first + 1;
  while (!isFirstDay(each, last) || startOf(each.timeZone, last) <= now) last += 1;
  return { startSeconds: startOf(each.timeZone, first), endSeconds: startOf(each.timeZone, last) };
}

function isFirstDay({ unit, multiplier, monthDay }: CalendarOptions, day: number): boolean {
  const date = new Date(day * DAY_SECONDS * 1000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const lastOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  if (unit === "DAY") return true;
  if (unit === "WEEK") return date.getUTCDay() === 1;
  if (unit === "YEAR") return month === 0 && date.getUTCDate() === 1;
  return ((year - 1970) * 12 + month) % multiplier === 0 && date.getUTCDate() === Math.min(monthDay, lastOfMonth);
}

/** The first moment whose date is the day or a later one. */
function startOf(timeZone: string, day: number): number {
  let at = (day - 1) * DAY_SECONDS;
  while (localDay(timeZone, at) < day) at += STEP_SECONDS;
  return at;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localDay(timeZone: string, at: number): number {
  let format = formats.get(timeZone);
  format ??= new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  formats.set(timeZone, format);
  return Date.parse(`${format.format(at * 1000)}T00:00:00Z`) / 1000 / DAY_SECONDS;
}
