// Calendar months in UTC, as envoyproxy/ratelimit has them with USE_CALENDAR_MONTH_RATE_LIMIT.

/** Length of the longest month, in seconds. */
export const CALENDAR_MONTH_MAX_SECONDS = 31 * 86_400;

/** A window with its own edges, in whole seconds since the epoch; the end is not part of it. */
export interface CalendarWindow {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** The months, of which the current one is kept. */
export class CalendarMonths {
  #current: CalendarWindow = { startSeconds: 0, endSeconds: 0 };

  /** The month that contains the moment. */
  at(nowSeconds: number): CalendarWindow {
    const { startSeconds, endSeconds } = this.#current;
    if (nowSeconds < startSeconds || nowSeconds >= endSeconds) this.#current = monthOf(nowSeconds);
    return this.#current;
  }
}

function monthOf(nowSeconds: number): CalendarWindow {
  const date = new Date(nowSeconds * 1000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { startSeconds: Date.UTC(year, month) / 1000, endSeconds: Date.UTC(year, month + 1) / 1000 };
}
