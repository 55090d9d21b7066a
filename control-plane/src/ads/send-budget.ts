// Bounds how many responses of a push are under way at a time: pods have theirs one after the
// other, not all of them late, and the system has no more to buffer than those need. Streams wait
// for a share; a pod that reads slowly holds its share for a moment only, so that it does not hold
// up the others.

/** How many responses may be under way at a time. */
const SENDS_MAX = 32;

/**
 * How long a response counts at most, in milliseconds: pods that read have read it by then, and
 * hundreds that hang do not delay the others for long.
 */
const SHARE_MAX_MS = 250;

/** How many shares there are and how long a share is held at most. */
export interface SendBudgetOptions {
  readonly sends?: number;
  readonly shareMaxMs?: number;
}

/** The budget of one listener. */
export interface SendBudget {
  /** Makes a share, which asks for nothing yet; `start` is called when it is its turn. */
  share(start: () => void): SendShare;
}

/** A part of the budget for one response. */
export interface SendShare {
  /**
   * Asks for its turn: `start` is called at once, or later in the order of asking. At most once.
   */
  request(): void;
  /** Gives the share back, or ends the wait for it. May be called more than once. */
  release(): void;
}

/** Makes a budget that nobody uses yet. */
export function createSendBudget(options: SendBudgetOptions = {}): SendBudget {
  return new QueuedBudget({ sends: SENDS_MAX, shareMaxMs: SHARE_MAX_MS, ...options });
}

class QueuedBudget implements SendBudget {
  readonly #bounds: Required<SendBudgetOptions>;
  /** Those that wait, the first first. */
  readonly #waiting = new Set<QueuedShare>();
  /** Those that count, with the timer that ends it. */
  readonly #counting = new Map<QueuedShare, NodeJS.Timeout>();
  #isGranting = false;

  constructor(bounds: Required<SendBudgetOptions>) {
    this.#bounds = bounds;
  }

  share(start: () => void): SendShare {
    return new QueuedShare(this, start);
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
    this.#grant();
  }

  #grant(): void {
    // Who has nothing to send any more gives the share back at once: thousands in a row must not
    // nest.
    if (this.#isGranting) return;
    this.#isGranting = true;
    try {
      for (const share of this.#waiting) {
        if (this.#counting.size >= this.#bounds.sends) return;
        this.#start(share);
      }
    } finally {
      this.#isGranting = false;
    }
  }

  #start(share: QueuedShare): void {
    this.#waiting.delete(share);
    const timer = setTimeout(() => this.release(share), this.#bounds.shareMaxMs);
    this.#counting.set(share, timer);
    share.start();
  }
}

class QueuedShare implements SendShare {
  readonly start: () => void;
  readonly #budget: QueuedBudget;

  constructor(budget: QueuedBudget, start: () => void) {
    this.#budget = budget;
    this.start = start;
  }

  request(): void {
    this.#budget.request(this);
  }

  release(): void {
    this.#budget.release(this);
  }
}
