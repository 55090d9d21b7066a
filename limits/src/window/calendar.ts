// Windows of the calendar: days, weeks, months and years that begin as the clocks of a time zone show
// it. In UTC, months are those of envoyproxy/ratelimit with USE_CALENDAR_MONTH_RATE_LIMIT.
import type { RateLimitModel } from "../model/model.ts";
import { parseUnit, type Unit, UNIT_SECONDS } from "../model/unit.ts";

/** The units that a calendar has. */
export type CalendarUnit = Extract<Unit, "DAY" | "WEEK" | "MONTH" | "YEAR">;

/** A window with its own edges, in whole seconds since the epoch; the end is not part of it. */
export interface CalendarWindow {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** The unit, time zone and edges of the calendar windows of a limit. */
export interface CalendarOptions {
  readonly unit: CalendarUnit;
  /** IANA name. */
  readonly timeZone: string;
  /** Months in a window, counted from January 1970; 1 for the other units. */
  readonly multiplier: number;
  /** Day that windows of months begin on, 1 to 31; in shorter months the last. 1 for the other units. */
  readonly monthDay: number;
}

/** Months as envoyproxy/ratelimit has them. */
export const UTC_MONTHS: CalendarOptions = { unit: "MONTH", timeZone: "UTC", multiplier: 1, monthDay: 1 };

/** Days of the longest month. */
const MONTH_MAX_DAYS = 31;

/** Days that clocks set back add to a window at most, as where a zone moves across the date line. */
const CLOCK_CHANGE_MAX_DAYS = 1;

/** The windows of a limit, of which the latest one that was asked for is kept: a window is calculated once. */
export class CalendarWindows {
  /** No window is longer: how long its counter has to live. */
  readonly maxSeconds: number;
  readonly #timeZone: string;
  readonly #windows: DateWindows;
  #current: CalendarWindow;

  /** Throws a RangeError when the time zone does not exist. */
  constructor({ unit, timeZone, multiplier, monthDay }: CalendarOptions) {
    this.#timeZone = timeZone;
    if (unit === "DAY" || unit === "WEEK") this.#windows = new WeekdayWindows(unit);
    else if (unit === "MONTH") this.#windows = new MonthWindows(multiplier, monthDay);
    else this.#windows = new MonthWindows(12, 1);
    this.maxSeconds = (this.#windows.maxDays + CLOCK_CHANGE_MAX_DAYS) * UNIT_SECONDS.DAY;
    this.#current = this.#windowOf(0);
  }

  /** The window that contains the moment. */
  at(nowSeconds: number): CalendarWindow {
    const { startSeconds, endSeconds } = this.#current;
    if (nowSeconds < startSeconds || nowSeconds >= endSeconds) this.#current = this.#windowOf(nowSeconds);
    return this.#current;
  }

  #windowOf(nowSeconds: number): CalendarWindow {
    const now = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowSeconds) * 1000);
    const today = now.toZonedDateTimeISO(this.#timeZone).toPlainDate();
    let first = this.#windows.firstDay(today);
    for (;;) {
      const next = this.#windows.firstDayAfter(first);
      const window = { startSeconds: this.#startOf(first), endSeconds: this.#startOf(next) };
      if (nowSeconds < window.endSeconds) return window;
      // Clocks that are set back past midnight show the day before again; its window has ended.
      first = next;
    }
  }

  /** The first moment of a day, which need not be midnight; of a day that the zone skips, that of the next. */
  #startOf(date: Temporal.PlainDate): number {
    return date.toZonedDateTime(this.#timeZone).epochMilliseconds / 1000;
  }
}

/** The windows of a limit with a time zone; undefined for the others. The limit is valid. */
export function calendarWindowsOf(limit: RateLimitModel): CalendarWindows | undefined {
  const { timeZone, unitMultiplier: multiplier = 1, monthDay = 1 } = limit;
  const unit = parseUnit(limit.unit);
  if (timeZone === undefined || unit === undefined || !isCalendarUnit(unit)) return undefined;
  return new CalendarWindows({ unit, timeZone, multiplier, monthDay });
}

function isCalendarUnit(unit: Unit): unit is CalendarUnit {
  return unit !== "SECOND" && unit !== "MINUTE" && unit !== "HOUR";
}

/** Windows as days of the calendar, without times. */
interface DateWindows {
  readonly maxDays: number;

  /** The first day of the window that contains the date. */
  firstDay(date: Temporal.PlainDate): Temporal.PlainDate;

  /** The first day of the window after the one that begins on `first`. */
  firstDayAfter(first: Temporal.PlainDate): Temporal.PlainDate;
}

/** Days, and weeks from Monday. */
class WeekdayWindows implements DateWindows {
  readonly maxDays: number;

  constructor(unit: "DAY" | "WEEK") {
    this.maxDays = unit === "DAY" ? 1 : 7;
  }

  firstDay(date: Temporal.PlainDate): Temporal.PlainDate {
    return date.subtract({ days: (date.dayOfWeek - 1) % this.maxDays });
  }

  firstDayAfter(first: Temporal.PlainDate): Temporal.PlainDate {
    return first.add({ days: this.maxDays });
  }
}

/**
 * Windows of so many months. They are counted from January 1970, hence from January of each year where
 * 12 is a multiple of their number, and from that of every second year for 24. Counted from each January,
 * the last of five months would be the window's second, and a year would admit three times the limit.
 */
class MonthWindows implements DateWindows {
  readonly maxDays: number;
  readonly #months: number;
  readonly #monthDay: number;

  constructor(months: number, monthDay: number) {
    this.#months = months;
    this.#monthDay = monthDay;
    this.maxDays = months * MONTH_MAX_DAYS;
  }

  firstDay(date: Temporal.PlainDate): Temporal.PlainDate {
    const isBeforeDay = date.day < Math.min(this.#monthDay, date.daysInMonth);
    const month = (date.year - 1970) * 12 + date.month - (isBeforeDay ? 2 : 1);
    return this.#firstDayOf(Math.floor(month / this.#months) * this.#months);
  }

  firstDayAfter(first: Temporal.PlainDate): Temporal.PlainDate {
    return this.#firstDayOf((first.year - 1970) * 12 + first.month - 1 + this.#months);
  }

  /** The day that windows begin on in a month, by its number since January 1970. */
  #firstDayOf(month: number): Temporal.PlainDate {
    const year = 1970 + Math.floor(month / 12);
    // `from` takes the last day of a month that is shorter.
    return Temporal.PlainDate.from({ year, month: month - (year - 1970) * 12 + 1, day: this.#monthDay });
  }
}
