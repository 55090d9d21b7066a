// Bounds how many responses are being sent at a time: pods get theirs one after the other, and the
// system buffers no more than those. A slow pod holds its permit for a moment only.

/** Most responses that are being sent at a time. */
const SENDS_MAX = 32;

/** Longest time of a permit, in milliseconds: hundreds of hung pods delay the others little. */
const PERMIT_MAX_MS = 250;

/** How many permits there are and how long a permit is held at most. */
export interface SendSemaphoreOptions {
  readonly sends?: number;
  readonly permitMaxMs?: number;
}

/** The permits of one listener. */
export class SendSemaphore {
  readonly #sends: number;
  readonly #permitMaxMs: number;
  /** Permits that are requested, in the order of requests, with what runs when each is granted. */
  readonly #waiting = new Map<SendPermit, () => void>();
  /** Permits that are held, with the timer that ends each. */
  readonly #held = new Map<SendPermit, NodeJS.Timeout>();
  #isGranting = false;

  constructor({ sends = SENDS_MAX, permitMaxMs = PERMIT_MAX_MS }: SendSemaphoreOptions = {}) {
    this.#sends = sends;
    this.#permitMaxMs = permitMaxMs;
  }

  /** Makes a permit that is not requested yet; `start` is called when it is granted. */
  permit(start: () => void): SendPermit {
    const permit: SendPermit = {
      request: () => {
        this.#waiting.set(permit, start);
        this.#grant();
      },
      release: () => this.#release(permit),
    };
    return permit;
  }

  #grant(): void {
    // A stream with nothing left to send releases immediately: thousands in a row must not nest.
    if (this.#isGranting) return;
    this.#isGranting = true;
    try {
      for (const [permit, start] of this.#waiting) {
        if (this.#held.size >= this.#sends) return;
        this.#waiting.delete(permit);
        const timer = setTimeout(() => this.#release(permit), this.#permitMaxMs);
        this.#held.set(permit, timer);
        start();
      }
    } finally {
      this.#isGranting = false;
    }
  }

  #release(permit: SendPermit): void {
    this.#waiting.delete(permit);
    const timer = this.#held.get(permit);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#held.delete(permit);
    this.#grant();
  }
}

/** The permit to send one response. */
export interface SendPermit {
  /** Requests the permit, at most once: `start` runs now, or later in the order of requests. */
  request(): void;
  /** Returns the permit, or cancels the request. May be called more than once. */
  release(): void;
}
