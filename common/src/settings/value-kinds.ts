// The kinds of values of settings: their names in tables, the allowed texts, and their parsers.
import {
  formatDurationMs,
  parseBoolean,
  parseDurationMs,
  parseInteger,
  parseNumber,
  parseSizeBytes,
  TIMER_MAX_MS,
} from "./parse-values.ts";

const PORT_MAX = 65_535;

export interface ValueKind<T> {
  /** A word or two for the settings table. */
  readonly type: string;
  /** The allowed texts, to follow "allowed is". */
  readonly allowed: string;
  /** The value, or undefined when the text is not allowed. */
  readonly parse: (text: string) => T | undefined;
}

/** Bounds of a number, both included. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** Bounds of a duration in milliseconds, both included, and its syntax. */
export interface DurationRange {
  readonly minMs?: number;
  readonly maxMs?: number;
  /** The unit of a number without one; default: such a number is invalid. */
  readonly bareUnit?: "ms" | "s";
  /**
   * True for the delay of a timer: a value above the maximum of a timer (24.8 days), such as
   * "876000h" for never, is read as that maximum.
   */
  readonly isTimer?: boolean;
  /** True for long durations, which may also be written in days, such as 7d. */
  readonly hasDays?: boolean;
}

/** The words that a setting accepts. */
export interface Choices<T extends string> {
  readonly choices: readonly T[];
  /** Further spellings and the choice that each means. */
  readonly synonyms?: Readonly<Record<string, T>>;
  /** True accepts any letter case. */
  readonly ignoreCase?: boolean;
}

/** Any text, as it is. */
export const TEXT: ValueKind<string> = { type: "text", allowed: "any text", parse: (text) => text };

export const BOOLEAN = kindOf(
  "boolean",
  "true or false (also 1, t, T, TRUE, True, 0, f, F, FALSE, False)",
  parseBoolean,
);

/** A number from 0 to 1. */
export const RATIO = kindOf("ratio", "a number from 0 to 1", (text) => within(parseNumber(text), 0, 1));

/** A port; 0 takes any free one. */
export const PORT = kindOf("port", `a port number from 0 to ${PORT_MAX}`, (text) =>
  within(parseInteger(text), 0, PORT_MAX),
);

/** Words separated by commas; spaces around them and empty words are ignored. */
export const LIST = kindOf("list", "words separated by commas", splitList);

/** A whole number. */
export function integerKind({ min, max }: Range): ValueKind<number> {
  return kindOf("integer", `a whole number${rangeText(min, max, String)}`, (text) =>
    within(parseInteger(text), min, max),
  );
}

/** A decimal number. */
export function numberKind({ min, max }: Range): ValueKind<number> {
  return kindOf("number", `a number${rangeText(min, max, String)}`, (text) => within(parseNumber(text), min, max));
}

/** A size in bytes. */
export function sizeKind({ min, max }: Range): ValueKind<number> {
  const allowed = `a size such as 65536, 512KiB or 4MiB${rangeText(min, max, (bytes) => `${bytes} bytes`)}`;
  return kindOf("size", allowed, (text) => within(parseSizeBytes(text), min, max));
}

/** A duration in milliseconds. */
export function durationKind({
  minMs,
  maxMs,
  bareUnit,
  isTimer = false,
  hasDays = false,
}: DurationRange): ValueKind<number> {
  const bare = bareUnit === undefined ? "" : ` or a number of ${bareUnit === "s" ? "seconds" : "milliseconds"}`;
  const examples = hasDays ? "10s, 1h30m or 7d" : "500ms, 10s or 1h30m";
  return kindOf(
    "duration",
    `a duration such as ${examples}${bare}${rangeText(minMs, maxMs, formatDurationMs)}`,
    (text) => {
      const isBare = bareUnit !== undefined && /^[0-9.]+$/.test(text);
      const ms = within(parseDurationMs(isBare ? text + bareUnit : text, { hasDays }), minMs, maxMs);
      return ms !== undefined && isTimer ? Math.min(ms, TIMER_MAX_MS) : ms;
    },
  );
}

/** One of some words. */
export function choiceKind<T extends string>({ choices, synonyms, ignoreCase = false }: Choices<T>): ValueKind<T> {
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const further = Object.entries<T>(synonyms ?? {});
  const meanings = new Map(
    [...further, ...choices.map((choice) => [choice, choice] as const)].map(([text, choice]) => [fold(text), choice]),
  );
  const also = further.length === 0 ? "" : ` (also ${further.map(([text]) => text).join(", ")})`;
  return kindOf(choices.join(" | "), `one of ${choices.join(", ")}${also}`, (text) => meanings.get(fold(text)));
}

/**
 * Pairs separated by commas; a value may be empty and may contain the separator, and the last of
 * equal keys counts.
 */
export function pairsKind(separator: ":" | "="): ValueKind<ReadonlyMap<string, string>> {
  return kindOf(`list of key${separator}value`, `pairs key${separator}value separated by commas`, (text) => {
    const pairs = splitList(text).map((pair) => splitPair(pair, separator));
    return pairs.every((pair) => pair !== undefined) ? new Map(pairs) : undefined;
  });
}

/** A kind of value; spaces around its text are ignored. */
function kindOf<T>(type: string, allowed: string, parse: (text: string) => T | undefined): ValueKind<T> {
  return { type, allowed, parse: (text) => parse(text.trim()) };
}

function within(value: number | undefined, min = -Infinity, max = Infinity): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

function rangeText(min: number | undefined, max: number | undefined, show: (value: number) => string): string {
  if (min !== undefined && max !== undefined) return ` from ${show(min)} to ${show(max)}`;
  if (min !== undefined) return ` of at least ${show(min)}`;
  return max === undefined ? "" : ` of at most ${show(max)}`;
}

function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function splitPair(pair: string, separator: string): readonly [key: string, value: string] | undefined {
  const at = pair.indexOf(separator);
  return at <= 0 ? undefined : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}
