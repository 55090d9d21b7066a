// Tells the log whether a statistics server can be reached: one line per change, however often it
// is tried.
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";

/** What is known of a server. */
export class Reachability {
  readonly #log: Log;
  readonly #address: string;
  #state: "unknown" | "reached" | "lost" = "unknown";
  #isFullReported = false;

  constructor(log: Log, address: string) {
    this.#log = log;
    this.#address = address;
  }

  /** It takes what is sent. */
  reached(): void {
    if (this.#state === "reached") return;
    this.#state = "reached";
    this.#isFullReported = false;
    this.#log.info("sending statistics", { to: this.#address });
  }

  /** It cannot be reached, or was lost. */
  lost(error: unknown): void {
    if (this.#state === "lost") return;
    this.#state = "lost";
    this.#log.warn("cannot send statistics, trying on; counters are kept meanwhile", {
      to: this.#address,
      error: describeError(error),
    });
  }

  /** It is there, but takes less than there is to send; told once until it is lost. */
  full(): void {
    if (this.#isFullReported) return;
    this.#isFullReported = true;
    this.#log.warn("statistics are dropped: the server takes less than there is to send", { to: this.#address });
  }
}
