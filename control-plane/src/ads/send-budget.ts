// Bounds the memory of a push: gRPC copies each response for each stream, so a large snapshot to many pods at once would take their product. Streams wait for
// a share of a budget instead; a pod that reads slowly holds its share for a moment only, so that it does not hold up the others.

/** How many responses may be under way at a time, however small. */
const SENDS_MAX = 32;

/** Bytes of responses that may be under way at a time. Small snapshots never come near it. */
const BUDGET_BYTES = 64 * 1024 * 1024;

/** How long a response counts at most, in milliseconds: by then a pod that reads has read it. */
const SHARE_MAX_MS = 1000;

/** Size of the budget and how long a share is held at most. */
export interface SendBudgetOptions {
  readonly bytes?: number;
  readonly sends?: number;
  readonly shareMaxMs?: number;
}

/** The budget of one listener. */
export interface SendBudget {
  /** Makes a share of so many bytes, which asks for nothing yet; `start` is called when there is room for it. */
  share(bytes: number, start: () => void): SendShare;
}

/** A part of the budget for one response. */
export interface SendShare {
  /** Asks for room: `start` is called at once, or later in the order of asking. What is larger than the whole budget goes alone. At most once. */
  request(): void;
  /** Gives the room back, or ends the wait for it. May be called more than once. */
  release(): void;
}

/** Makes a budget that nobody uses yet. */
export function createSendBudget(options: SendBudgetOptions = {}): SendBudget {
  return new QueuedBudget({ bytes: BUDGET_BYTES, sends: SENDS_MAX, shareMaxMs: SHARE_MAX_MS, ...options });
}

class QueuedBudget implements SendBudget {
  readonly #bounds: Required<SendBudgetOptions>;
  /** Those that wait, the first first. */
  readonly #waiting = new Set<QueuedShare>();
  /** Those that count, with the timer that ends it. */
  readonly #counting = new Map<QueuedShare, NodeJS.Timeout>();
  #usedBytes = 0;

  constructor(bounds: Required<SendBudgetOptions>) {
    this.#bounds = bounds;
  }

  share(bytes: number, start: () => void): SendShare {
    return new QueuedShare(this, bytes, start);
  }

  request(share: QueuedShare): void {
    this.#waiting.add(share);
    this.#grant();
  }

  release(share: QueuedShare): void {
    this.#waiting.delete(share);
    const timer = this.#counting.get(share);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#counting.delete(share);
    this.#usedBytes -= share.bytes;
    this.#grant();
  }

  #grant(): void {
    for (const share of this.#waiting) {
      if (this.#counting.size >= this.#bounds.sends) return;
      if (this.#usedBytes > 0 && this.#usedBytes + share.bytes > this.#bounds.bytes) return;
      this.#waiting.delete(share);
      this.#usedBytes += share.bytes;
      this.#counting.set(
        share,
        setTimeout(() => this.release(share), this.#bounds.shareMaxMs),
      );
      share.start();
    }
  }
}

class QueuedShare implements SendShare {
  readonly bytes: number;
  readonly start: () => void;
  readonly #budget: QueuedBudget;

  constructor(budget: QueuedBudget, bytes: number, start: () => void) {
    this.#budget = budget;
    this.bytes = bytes;
    this.start = start;
  }

  request(): void {
    this.#budget.request(this);
  }

  release(): void {
    this.#budget.release(this);
  }
}
