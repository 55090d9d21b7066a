// The log of every service: a constant message with variables as fields, as text or JSON lines on
// standard error.
import { pino } from "pino";

import { describeError } from "../errors/service-error.ts";
import type { EnvReader } from "../settings/read-env.ts";
import { formatText } from "./format-text.ts";

const STDERR = 2;

/** Keys of the line itself; a field with such a name is printed as `fields.<name>`. */
const OWN_KEYS: ReadonlySet<string> = new Set(["time", "level", "msg", "@timestamp", "@message"]);

/** The words for the levels, as in envoyproxy/ratelimit. */
const LEVEL_WORDS: Readonly<Record<string, string>> = { debug: "debug", info: "info", warn: "warning", error: "error" };

/** The severity of a line; the methods of {@link Log} say when to use each. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/**
 * The format of lines: `time=… level=… msg=…`, or JSON with `@timestamp`, `level` and `@message`.
 */
export type LogFormat = "text" | "json";

/**
 * Variables of a line. An Error is printed as its message and causes, a Secret as "[redacted]";
 * undefined is left out.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes lines. Messages are constant; variables are fields. */
export interface Log {
  /** A detail of one request or step, for fault analysis. */
  debug(message: string, fields?: LogFields): void;
  /** A change of state. */
  info(message: string, fields?: LogFields): void;
  /** Degraded but working. */
  warn(message: string, fields?: LogFields): void;
  /** Lost work. */
  error(message: string, fields?: LogFields): void;
  /**
   * A log that adds these fields to every line; a field of the line with the same name has
   * precedence.
   */
  child(fields: LogFields): Log;
  /** Returns true if lines of this level are written; for fields that are expensive to make. */
  isEnabled(level: LogLevel): boolean;
}

/**
 * Options of a log. `write` receives whole lines (default: standard error, synchronously), `now`
 * returns the time (default: the system's).
 */
export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly write?: (line: string) => void;
  readonly now?: () => Date;
}

/** Opens a log. */
export function createLog(options: LogOptions): Log {
  const { level, format, write, now = () => new Date() } = options;
  // Synchronous: a line about the end of the process must be written before the process ends.
  const output = write === undefined ? pino.destination({ dest: STDERR, sync: true }) : { write };
  const destination = format === "json" ? output : { write: (line: string) => output.write(textOfJson(line)) };
  const sink = pino(
    {
      level,
      base: null,
      messageKey: "@message",
      timestamp: () => `,"@timestamp":"${now().toISOString()}"`,
      formatters: { level: (label) => ({ level: LEVEL_WORDS[label] ?? label }) },
    },
    destination,
  );
  return new PinoLog(sink, {});
}

/** A log that writes nothing. */
export function silentLog(): Log {
  return SILENT;
}

/** Reads LOG_LEVEL (with the seven words of envoyproxy/ratelimit) and LOG_FORMAT. */
export function readLogSettings(
  read: EnvReader,
  defaults: { readonly level: LogLevel },
): { level: LogLevel; format: LogFormat } {
  return {
    level: read.oneOf<LogLevel>("LOG_LEVEL", {
      default: defaults.level,
      choices: ["debug", "info", "warn", "error"],
      synonyms: { panic: "error", fatal: "error", warning: "warn", trace: "debug" },
      ignoreCase: true,
      effect: "Least important lines that are logged.",
    }),
    format: read.oneOf<LogFormat>("LOG_FORMAT", {
      default: "text",
      choices: ["text", "json"],
      ignoreCase: true,
      effect: "Shape of log lines: text with time, level and msg, or JSON with @timestamp, level and @message.",
    }),
  };
}

const SILENT: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
  isEnabled: () => false,
};

class PinoLog implements Log {
  readonly #sink: pino.Logger;
  readonly #fields: LogFields;

  constructor(sink: pino.Logger, fields: LogFields) {
    this.#sink = sink;
    this.#fields = fields;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write("error", message, fields);
  }

  child(fields: LogFields): Log {
    return new PinoLog(this.#sink, { ...this.#fields, ...fields });
  }

  isEnabled(level: LogLevel): boolean {
    return this.#sink.isLevelEnabled(level);
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (!this.isEnabled(level)) return;
    this.#sink[level](printable({ ...this.#fields, ...fields }), message);
  }
}

/** The fields with printable names and values that JSON can represent. */
function printable(fields: LogFields): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    result[OWN_KEYS.has(key) ? `fields.${key}` : key] = printableValue(value);
  }
  return result;
}

function printableValue(value: unknown): unknown {
  if (value instanceof Error) return describeError(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return String(value); // JSON would print null.
  return value;
}

function textOfJson(line: string): string {
  const { level, "@timestamp": time, "@message": message, ...fields } = JSON.parse(line) as Record<string, unknown>;
  return formatText({ time: String(time), level: String(level), message: String(message), fields });
}
