// Says in the log what may happen at every request, but not at every request.
import type { Log, LogFields } from "@weir/common/log/log";

/** Shortest time between two lines with the same message, in milliseconds. */
const INTERVAL_MS = 10_000;

/** What is known of one message. */
interface Said {
  nextMs: number;
  suppressed: number;
}

/**
 * A log for faults of single commands. Its messages are constant texts of this backend, so there
 * are few.
 */
export class ThrottledLog {
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #said = new Map<string, Said>();

  constructor(log: Log, clock: () => number) {
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * Writes an error, unless the same message was written a moment ago; `suppressed` in the next
   * line says how often that was.
   */
  error(message: string, fields: LogFields): void {
    const nowMs = this.#clock();
    const said = this.#said.get(message) ?? { nextMs: -Infinity, suppressed: 0 };
    this.#said.set(message, said);
    if (nowMs < said.nextMs) {
      said.suppressed += 1;
      return;
    }
    this.#log.error(message, said.suppressed === 0 ? fields : { ...fields, suppressed: said.suppressed });
    said.nextMs = nowMs + INTERVAL_MS;
    said.suppressed = 0;
  }
}
