// The heartbeat of one stream, for pods that ask for it: the pod notices when the control plane hangs,
// and the control plane when the pod does, also where a proxy between them answers TCP and HTTP/2.
import { Watchdog } from "@weir/common/lifecycle/watchdog";

/** Time between two heartbeats, in milliseconds. */
const INTERVAL_MS = 5000;

/** Longest silence of either end, in milliseconds: one heartbeat may be late. */
const SILENCE_MAX_MS = 10_000;

/** How slowly a large response may arrive, in bytes per second: it delays heartbeats and answers. */
const SLOWEST_BYTES_PER_SECOND = 64 * 1024;

/** For tests: other times, in milliseconds. */
export interface HeartbeatOptions {
  readonly intervalMs?: number;
  readonly silenceMaxMs?: number;
}

export interface HeartbeatDeps {
  /** Sends one; the next comes within `silenceMaxMs`. */
  readonly send: (silenceMaxMs: number) => void;
  /** The pod has sent nothing for this long. */
  readonly hung: (waitedMs: number) => void;
}

/** The heartbeat; it begins immediately. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  readonly #baseMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #watchdog: Watchdog;
  /** Time for a large response that the pod has not answered. */
  #extraMs = 0;
  #isStopped = false;

  constructor(deps: HeartbeatDeps, { intervalMs = INTERVAL_MS, silenceMaxMs = SILENCE_MAX_MS }: HeartbeatOptions = {}) {
    this.#deps = deps;
    this.#baseMs = silenceMaxMs;
    this.#watchdog = new Watchdog(() => deps.hung(this.#silenceMaxMs));
    this.#timer = setInterval(() => deps.send(this.#silenceMaxMs), intervalMs);
    this.received();
    deps.send(this.#silenceMaxMs);
  }

  get #silenceMaxMs(): number {
    return this.#baseMs + this.#extraMs;
  }

  /** The pod has sent something. */
  received(): void {
    if (!this.#isStopped) this.#watchdog.reset(this.#silenceMaxMs);
  }

  /** A response of this size follows; a large one is announced by a heartbeat. */
  responding(bytes: number): void {
    const extraMs = Math.floor(bytes / SLOWEST_BYTES_PER_SECOND) * 1000;
    // An earlier response may still be on its way.
    this.#extraMs = Math.max(this.#extraMs, extraMs);
    if (extraMs === 0 || this.#isStopped) return;
    this.received(); // From now on it may take that long.
    this.#deps.send(this.#silenceMaxMs);
  }

  /** The pod has answered the response. */
  answered(): void {
    this.#extraMs = 0;
    this.received();
  }

  /** Ends it for good, whatever is still sent. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#watchdog.stop();
  }
}
