// Formats a log record as a line of `key=value` pairs, as logrus does.

/**
 * Texts that need no quotes: the same set as in logrus, which envoyproxy/ratelimit uses, so that
 * parsers of its lines work.
 */
const BARE_TEXT = /^[A-Za-z0-9\-._/@^+]+$/;

/**
 * Characters that JSON does not escape but that could move the cursor of a terminal or break a line
 * in some viewers.
 */
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/g;

/** A record ready to print. */
export interface LogRecord {
  /** RFC 3339. */
  readonly time: string;
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** `time="…" level=warning msg="…" key=value …`, ending in a line feed. */
export function formatText({ time, level, message, fields }: LogRecord): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${formatValue(value)}`);
  return `time=${quote(time)} level=${level} msg=${quote(message)}${pairs.join("")}\n`;
}

function formatValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return BARE_TEXT.test(text) ? text : quote(text);
}

function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
