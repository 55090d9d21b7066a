// Notices that a server hangs, by the heartbeats that Weir's control plane sends. Other servers send
// none: nothing is expected of them.
import { Watchdog } from "@weir/common/lifecycle/watchdog";

/** Longest wait for the first message of a server that has sent heartbeats before, in milliseconds. */
const FIRST_MESSAGE_MAX_MS = 5000;

/** Longest silence that a heartbeat may announce, in milliseconds. */
const SILENCE_LIMIT_MS = 600_000;

/** Watches one stream. */
export class HeartbeatWatch {
  readonly #watchdog: Watchdog;
  /** True once this stream has had a heartbeat. */
  #isBeating = false;
  #isExpected: boolean;
  #silenceMaxMs = FIRST_MESSAGE_MAX_MS;

  /**
   * `isExpected`: that of the stream before, so that a connection to a server that hangs is given up soon.
   * `silent` is called when nothing came for too long.
   */
  constructor(isExpected: boolean, silent: (waitedMs: number) => void) {
    this.#isExpected = isExpected;
    this.#watchdog = new Watchdog(() => silent(this.#silenceMaxMs));
  }

  /** True if the server sends heartbeats, as far as is known. */
  get isExpected(): boolean {
    return this.#isExpected;
  }

  /** The connection is open. */
  connected(): void {
    if (this.#isExpected) this.#watchdog.reset(this.#silenceMaxMs);
  }

  /** A heartbeat came, with the time until the next one at the latest, in milliseconds. */
  heartbeat(silenceMaxMs: number): void {
    this.#isBeating = true;
    this.#isExpected = true;
    if (silenceMaxMs > 0 && silenceMaxMs <= SILENCE_LIMIT_MS) this.#silenceMaxMs = silenceMaxMs;
    this.#watchdog.reset(this.#silenceMaxMs);
  }

  /** A response came; servers with heartbeats send one before. */
  response(): void {
    if (this.#isBeating) return;
    this.#isExpected = false;
    this.#watchdog.stop();
  }

  stop(): void {
    this.#watchdog.stop();
  }
}
