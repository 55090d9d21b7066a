// Logs whether a statistics server takes what is sent to it.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";

/** Shortest time between two warnings about the same problem, in milliseconds. */
const WARNING_INTERVAL_MS = 60_000;

/** The state of a server, as far as known. */
export class Reachability {
  readonly #log: Log;
  readonly #warnings: RateLimitedLog;
  readonly #address: string;
  #isReached = false;

  constructor(log: Log, address: string) {
    this.#log = log;
    this.#warnings = new RateLimitedLog(log, { intervalMs: WARNING_INTERVAL_MS, clock: () => performance.now() });
    this.#address = address;
  }

  /** Notes that the server takes what is sent. */
  reached(): void {
    if (this.#isReached) return;
    this.#isReached = true;
    this.#warnings.clear();
    this.#log.info("Sending statistics", { to: this.#address });
  }

  /** Notes that the server cannot be reached, or was lost. */
  lost(error: unknown): void {
    this.#isReached = false;
    this.#warnings.warn("Cannot send statistics, counters are kept until the server is back", {
      to: this.#address,
      error,
    });
  }

  /** Notes that the server takes less than there is to send. */
  full(): void {
    this.#warnings.warn("Dropped statistics, the server is too slow", { to: this.#address });
  }
}
