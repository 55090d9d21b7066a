// The units of time of a limit: their names, lengths and wire numbers, which the request, the
// response and the configuration share.

/** Length of the window in which requests are counted. */
export type Unit = "SECOND" | "MINUTE" | "HOUR" | "DAY" | "WEEK" | "MONTH" | "YEAR";

/**
 * Length of each unit in seconds. A month is 30 days and a year 365 days; windows are aligned to
 * the Unix epoch.
 */
export const UNIT_SECONDS: Readonly<Record<Unit, number>> = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3_600,
  DAY: 86_400,
  WEEK: 604_800,
  MONTH: 2_592_000,
  YEAR: 31_536_000,
};

/** Longest window, in seconds: ten years. */
export const WINDOW_MAX_SECONDS = 10 * UNIT_SECONDS.YEAR;

/** Length of a window of so many units in seconds; undefined when it is longer than ten years. */
export function windowSecondsOf(unit: Unit, multiplier: number): number | undefined {
  const seconds = UNIT_SECONDS[unit] * multiplier;
  return seconds <= WINDOW_MAX_SECONDS ? seconds : undefined;
}

/**
 * Number of each unit on the wire, equal in envoy.type.v3, in rate limit responses and in
 * RateLimitConfig. 0 is UNKNOWN.
 */
export const UNIT_NUMBERS = {
  SECOND: 1,
  MINUTE: 2,
  HOUR: 3,
  DAY: 4,
  MONTH: 5,
  YEAR: 6,
  WEEK: 7,
} as const satisfies Record<Unit, number>;

const UNITS_BY_NUMBER = new Map<number, Unit>(
  Object.entries(UNIT_NUMBERS).map(([unit, number]) => [number, unit as Unit]),
);

/**
 * The unit that a text names, in any letter case; undefined for anything else, "unknown" and the
 * empty text included.
 */
export function parseUnit(text: string): Unit | undefined {
  const name = text.toUpperCase();
  return Object.hasOwn(UNIT_NUMBERS, name) ? (name as Unit) : undefined;
}

/** The unit with this wire number; undefined for 0 and for numbers that name none. */
export function unitOfNumber(number: number): Unit | undefined {
  return UNITS_BY_NUMBER.get(number);
}
