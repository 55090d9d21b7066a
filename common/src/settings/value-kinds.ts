// The kinds of value that a setting can have: how each is called in tables, which texts it allows in words, and how it is read. Pure.
import { parseBoolean, parseDurationMs, parseInteger, parseNumber, parseSizeBytes } from "./parse-values.ts";

const PORT_MAX = 65_535;

/** Longest delay of a Node timer (24.8 days): setTimeout with more fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** One kind of value. */
export interface ValueKind<T> {
  /** A word or two for the settings table. */
  readonly type: string;
  /** What is allowed, to stand behind "allowed is". */
  readonly allowed: string;
  /** The value, or undefined when the text is not allowed. */
  readonly parse: (text: string) => T | undefined;
}

/** Bounds of a number, both included. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** Bounds of a duration in milliseconds, both included, and how it is read. */
export interface DurationRange {
  readonly minMs?: number;
  readonly maxMs?: number;
  /** The unit of a number that stands alone; default: such a number is refused. */
  readonly bareUnit?: "ms" | "s";
  /** True for what becomes the delay of a timer: more than a timer can wait (24.8 days), such as "876000h" for never, is read as that. */
  readonly isTimer?: boolean;
}

/** The words that a setting may hold. */
export interface Choices<T extends string> {
  readonly choices: readonly T[];
  /** Further spellings and the choice that each stands for. */
  readonly synonyms?: Readonly<Record<string, T>>;
  /** True accepts any letter case. */
  readonly ignoreCase?: boolean;
}

/** Any text. */
export const TEXT: ValueKind<string> = { type: "text", allowed: "any text", parse: (text) => text };

/** A boolean. */
export const BOOLEAN: ValueKind<boolean> = {
  type: "boolean",
  allowed: "true or false (also 1, t, T, TRUE, True, 0, f, F, FALSE, False)",
  parse: parseBoolean,
};

/** A number from 0 to 1. */
export const RATIO: ValueKind<number> = { ...numberKind({ min: 0, max: 1 }), type: "ratio" };

/** A port; 0 takes any free one. */
export const PORT: ValueKind<number> = {
  type: "port",
  allowed: `a port number${rangeText(0, PORT_MAX)}`,
  parse: (text) => within(parseInteger(text), 0, PORT_MAX),
};

/** Words separated by commas; spaces around them and empty words do not count. */
export const LIST: ValueKind<readonly string[]> = { type: "list", allowed: "words separated by commas", parse: splitList };

/** A whole number. */
export function integerKind({ min, max }: Range): ValueKind<number> {
  return { type: "integer", allowed: `a whole number${rangeText(min, max)}`, parse: (text) => within(parseInteger(text), min, max) };
}

/** A decimal number. */
export function numberKind({ min, max }: Range): ValueKind<number> {
  return { type: "number", allowed: `a number${rangeText(min, max)}`, parse: (text) => within(parseNumber(text), min, max) };
}

/** A size in bytes. */
export function sizeKind({ min, max }: Range): ValueKind<number> {
  const allowed = `a size such as 65536, 512KiB or 4MiB${rangeText(min, max, " bytes")}`;
  return { type: "size", allowed, parse: (text) => within(parseSizeBytes(text), min, max) };
}

/** A duration in milliseconds. */
export function durationKind({ minMs, maxMs, bareUnit, isTimer = false }: DurationRange): ValueKind<number> {
  const bare = bareUnit === undefined ? "" : ` or a number of ${bareUnit === "s" ? "seconds" : "milliseconds"}`;
  return {
    type: "duration",
    allowed: `a duration such as 500ms, 10s or 1h30m${bare}${rangeText(minMs, maxMs, "ms")}`,
    parse(text) {
      const isBare = bareUnit !== undefined && /^[0-9.]+$/.test(text);
      const ms = within(parseDurationMs(isBare ? text + bareUnit : text), minMs, maxMs);
      return ms !== undefined && isTimer ? Math.min(ms, TIMER_MAX_MS) : ms;
    },
  };
}

/** One of some words. */
export function choiceKind<T extends string>({ choices, synonyms, ignoreCase = false }: Choices<T>): ValueKind<T> {
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const further = Object.entries<T>(synonyms ?? {});
  const meanings = new Map(
    [...further, ...choices.map((choice) => [choice, choice] as const)].map(([text, choice]) => [fold(text), choice]),
  );
  const also = further.length === 0 ? "" : ` (also ${further.map(([text]) => text).join(", ")})`;
  return { type: choices.join(" | "), allowed: `one of ${choices.join(", ")}${also}`, parse: (text) => meanings.get(fold(text)) };
}

/** Pairs separated by commas; a value may be empty and may hold the separator, and of equal keys the last stands. */
export function pairsKind(separator: ":" | "="): ValueKind<ReadonlyMap<string, string>> {
  return {
    type: `list of key${separator}value`,
    allowed: `pairs key${separator}value separated by commas`,
    parse(text) {
      const pairs = splitList(text).map((pair) => splitPair(pair, separator));
      return pairs.every((pair) => pair !== undefined) ? new Map(pairs) : undefined;
    },
  };
}

function within(value: number | undefined, min = -Infinity, max = Infinity): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

function rangeText(min: number | undefined, max: number | undefined, unit = ""): string {
  if (min !== undefined && max !== undefined) return ` from ${min}${unit} to ${max}${unit}`;
  if (min !== undefined) return ` of at least ${min}${unit}`;
  return max === undefined ? "" : ` of at most ${max}${unit}`;
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
