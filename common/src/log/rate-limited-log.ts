// A log for events that can occur at every request or attempt: the first is logged immediately,
// repeats are counted.
import type { Log, LogFields, LogLevel } from "./log.ts";

/** Most events that are remembered; beyond it the oldest is forgotten and would be logged again. */
const EVENTS_MAX = 10_000;

/** How often the same event is logged. */
export interface RateLimitedLogOptions {
  /** Shortest time between two lines about the same event, in milliseconds; Infinity logs it once. */
  readonly intervalMs: number;
  /** Milliseconds by a clock that only goes forward; default `performance.now`. */
  readonly monotonicMs?: () => number;
}

/** The last line about an event. */
interface LoggedEvent {
  readonly loggedMs: number;
  /** Repeats since then. */
  repeats: number;
}

/**
 * Logs an event when it first occurs. Repeats within the interval are counted, and the first one
 * after the interval is logged with the number of those before it in `repeats`.
 *
 * The message identifies the event, or `key` where one message covers several. Keys come from a
 * small set: constants, configuration, reasons of errors.
 */
export class RateLimitedLog {
  readonly #log: Log;
  readonly #intervalMs: number;
  readonly #monotonicMs: () => number;
  readonly #events = new Map<string, LoggedEvent>();

  constructor(log: Log, { intervalMs, monotonicMs = () => performance.now() }: RateLimitedLogOptions) {
    this.#log = log;
    this.#intervalMs = intervalMs;
    this.#monotonicMs = monotonicMs;
  }

  /** Logs an event about one request or step. */
  debug(message: string, fields: LogFields, key = message): void {
    this.#write("debug", message, fields, key);
  }

  /** Logs a change of state. */
  info(message: string, fields: LogFields, key = message): void {
    this.#write("info", message, fields, key);
  }

  /** Logs that something is degraded but works. */
  warn(message: string, fields: LogFields, key = message): void {
    this.#write("warn", message, fields, key);
  }

  /** Logs lost work. */
  error(message: string, fields: LogFields, key = message): void {
    this.#write("error", message, fields, key);
  }

  /**
   * Logs the end of all events, at level info, and forgets them: when one of them occurs again, it is
   * logged immediately. Does nothing if no event was logged since the last call.
   */
  recovered(message: string, fields: LogFields): void {
    if (this.#events.size === 0) return;
    this.clear();
    this.#log.info(message, fields);
  }

  /** Forgets all events, or those of one key: the next one is logged immediately. */
  clear(key?: string): void {
    if (key === undefined) this.#events.clear();
    else this.#events.delete(key);
  }

  #write(level: LogLevel, message: string, fields: LogFields, key: string): void {
    const nowMs = this.#monotonicMs();
    const event = this.#events.get(key);
    if (event !== undefined && nowMs - event.loggedMs < this.#intervalMs) {
      event.repeats += 1;
      return;
    }
    this.#log[level](
      message,
      event === undefined || event.repeats === 0 ? fields : { ...fields, repeats: event.repeats },
    );
    this.#events.delete(key); // So that the order of the keys stays that of their last lines.
    this.#events.set(key, { loggedMs: nowMs, repeats: 0 });
    if (this.#events.size <= EVENTS_MAX) return;
    const [oldest = key] = this.#events.keys();
    this.#events.delete(oldest);
  }
}
