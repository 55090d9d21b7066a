// Parses the texts of settings as Go's strconv and time packages do, because existing deployments
// use that syntax.

/**
 * Longest delay of a Node timer, in milliseconds (24.8 days): with more, setTimeout fires
 * immediately.
 */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * Milliseconds of each unit of a Go duration; microseconds with the micro sign and with the Greek
 * letter mu, which look the same.
 */
const DURATION_UNIT_MS: ReadonlyMap<string, number> = new Map([
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
  ["us", 1e-3],
  ["\u00b5s", 1e-3],
  ["\u03bcs", 1e-3],
  ["ns", 1e-6],
]);

/** Milliseconds of a day, a unit that Go's durations do not have. */
const DAY_MS = 86_400_000;

/** One amount with its unit in a Go duration. */
const DURATION_TERM = /(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/gy;

/** The same with days. */
const DURATION_TERM_OR_DAYS = new RegExp(DURATION_TERM.source.replace("|h)", "|h|d)"), DURATION_TERM.flags);

/** Bytes of each suffix of a size, in lower case. */
const SIZE_UNIT_BYTES: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

/** The boolean as Go's strconv.ParseBool reads it, or undefined. */
export function parseBoolean(text: string): boolean | undefined {
  return BOOLEANS.get(text);
}

/**
 * The integer as Go's strconv.ParseInt with base 0 reads it (`0x`, `0o`, `0b`, leading `0` is
 * octal, `_` between digits), or undefined.
 */
export function parseInteger(text: string): number | undefined {
  const match = /^([+-]?)(0[xX]|0[oO]|0[bB]|0(?=[0-9_]))?(_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign = "", prefix = "", digits = ""] = match;
  if (prefix === "" && /^_|[a-f]/i.test(digits)) return undefined;
  const value = Number((prefix === "0" ? "0o" : prefix) + digits.replaceAll("_", "")); // NaN for a digit above the base.
  if (!Number.isSafeInteger(value)) return undefined;
  return sign === "-" && value !== 0 ? -value : value;
}

/** The finite decimal number, with or without exponent, or undefined. */
export function parseNumber(text: string): number | undefined {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/**
 * Milliseconds of a duration in Go's syntax: "0", "1h30m", "1.5s", "150us"; signs are refused, no
 * setting is a negative time. With `hasDays` also "7d", a day being 24 hours.
 */
export function parseDurationMs(text: string, { hasDays = false } = {}): number | undefined {
  if (text === "0") return 0;
  const terms = [...text.matchAll(hasDays ? DURATION_TERM_OR_DAYS : DURATION_TERM)]; // Sticky: each begins where the one before ends.
  if (text === "" || terms.map(([term]) => term).join("") !== text) return undefined;
  const unitMs = (unit: string): number => (unit === "d" ? DAY_MS : (DURATION_UNIT_MS.get(unit) ?? Number.NaN));
  const totalMs = terms.reduce((sumMs, [, amount, unit = ""]) => sumMs + Number(amount) * unitMs(unit), 0);
  // Rounded to whole nanoseconds, the finest unit, so that 0.1 and 0.2 add up as written.
  return Number.isFinite(totalMs) ? Math.round(totalMs * 1e6) / 1e6 : undefined;
}

/**
 * The duration in Go's syntax, in the largest unit of which it is a whole number: 90000 is "90s",
 * 7200000 is "2h".
 */
export function formatDurationMs(ms: number): string {
  const [unit, unitMs] = [...DURATION_UNIT_MS].find(
    ([, candidateMs]) => ms >= candidateMs && ms % candidateMs === 0,
  ) ?? ["ms", 1];
  return `${ms / unitMs}${unit}`;
}

/**
 * Bytes of a size: a whole number with an optional suffix (KiB, MiB, GiB, kB, MB, GB; any letter
 * case).
 */
export function parseSizeBytes(text: string): number | undefined {
  const match = /^(\d+)\s*([a-z]*)$/.exec(text.toLowerCase());
  const unit = SIZE_UNIT_BYTES[match?.[2] ?? "unknown"];
  if (match === null || unit === undefined) return undefined;
  const bytes = Number(match[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
