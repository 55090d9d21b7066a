// Runs a few pieces of costly work at a time, fairly: groups of callers take turns, none may take up
// most places, and a piece whose turn would come too late is refused immediately.

/** The part of all places that one group may have by default. */
const GROUP_PLACES_RATIO = 1 / 4;

/** Weight of the newest duration in the mean. */
const MEAN_WEIGHT = 0.2;

/** Bounds of a queue. */
export interface QueueOptions {
  /** How many pieces run at a time. */
  readonly concurrency: number;
  /** How many may wait. */
  readonly waitingMax: number;
  /** How many of the waiting ones one group may have; a quarter by default. */
  readonly groupPlaces?: number;
  /** Longest expected wait of an accepted piece, and longest wait of any, in milliseconds. */
  readonly waitMaxMs: number;
  /** The error for a refused one. */
  readonly refusal: () => Error;
  /** Milliseconds of a clock that only goes forward. */
  readonly nowMs: () => number;
  /** Called with the number of waiting ones whenever it changes. */
  readonly onDepth?: (waiting: number) => void;
  /** Called with the duration of each piece, in seconds. */
  readonly onDone?: (seconds: number) => void;
}

/** One waiting piece. */
interface Waiting {
  readonly start: () => void;
  readonly refuse: () => void;
}

/**
 * A queue in front of costly work. Each group is served in the order of arrival, and groups take turns:
 * one that sends a thousand pieces delays the single piece of another by one piece.
 */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #groupPlaces: number;
  /** The waiting pieces of each group that has any; the first group is next. */
  readonly #groups = new Map<string, Waiting[]>();
  #waiting = 0;
  #running = 0;
  /** Mean duration of the last pieces; undefined before the first has ended. */
  #meanMs: number | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#groupPlaces = options.groupPlaces ?? Math.max(1, Math.floor(options.waitingMax * GROUP_PLACES_RATIO));
  }

  /**
   * Runs `work` when it is the turn of `group` and resolves to its result; rejects with the refusal
   * when the group has no place, or its turn would come too late.
   */
  async run<T>(group: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#options.concurrency)
      await this.#waitForTurn(group); // A finished piece passes on its slot: the number of running ones stays.
    else this.#running += 1;
    const startedMs = this.#options.nowMs();
    try {
      const result = await work();
      this.#measure(this.#options.nowMs() - startedMs); // Only work that was done: a failed piece can be quick.
      return result;
    } finally {
      this.#options.onDone?.((this.#options.nowMs() - startedMs) / 1000);
      this.#release();
    }
  }

  #waitForTurn(group: string): Promise<void> {
    const own = this.#groups.get(group)?.length ?? 0;
    const isTooLate = this.#expectedWaitMs(group, own) > this.#options.waitMaxMs;
    if (own >= this.#groupPlaces || isTooLate || !this.#makePlace(own)) return Promise.reject(this.#options.refusal());
    return new Promise((resolve, reject) => {
      const refuse = (): void => {
        clearTimeout(timer);
        reject(this.#options.refusal());
      };
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const piece: Waiting = { start, refuse };
      const timer = setTimeout(() => this.#remove(group, piece).refuse(), this.#options.waitMaxMs);
      this.#groups.getOrInsertComputed(group, () => []).push(piece);
      this.#count(1);
    });
  }

  /**
   * When the next piece of a group with `own` waiting ones would start. Each group has one turn per
   * cycle, and those after this group have one turn less before that.
   */
  #expectedWaitMs(group: string, own: number): number {
    let ahead = own;
    let isBefore = true;
    for (const [other, { length }] of this.#groups) {
      if (other === group) isBefore = false;
      else ahead += Math.min(length, isBefore ? own + 1 : own);
    }
    return ((ahead + 1) * (this.#meanMs ?? 0)) / this.#options.concurrency;
  }

  /**
   * Whether there is a place for one more piece of a group with `own` waiting ones. In a full queue the
   * newest piece of the largest group makes place for a smaller group, so that a few groups cannot keep
   * all others out.
   */
  #makePlace(own: number): boolean {
    if (this.#waiting < this.#options.waitingMax) return true;
    const largest = [...this.#groups].reduce((a, b) => (b[1].length > a[1].length ? b : a));
    const [group, pieces] = largest;
    const newest = pieces.at(-1);
    if (newest === undefined || pieces.length <= own + 1) return false;
    this.#remove(group, newest).refuse();
    return true;
  }

  #remove(group: string, piece: Waiting): Waiting {
    const pieces = this.#groups.get(group) ?? [];
    pieces.splice(pieces.indexOf(piece), 1);
    if (pieces.length === 0) this.#groups.delete(group);
    this.#count(-1);
    return piece;
  }

  #release(): void {
    const [next] = this.#groups;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [group, pieces] = next;
    const piece = pieces.shift();
    this.#groups.delete(group);
    if (pieces.length > 0) this.#groups.set(group, pieces); // Behind all others.
    this.#count(-1);
    piece?.start();
  }

  #measure(durationMs: number): void {
    const mean = this.#meanMs ?? durationMs;
    this.#meanMs = mean + MEAN_WEIGHT * (durationMs - mean);
  }

  #count(change: 1 | -1): void {
    this.#waiting += change;
    this.#options.onDepth?.(this.#waiting);
  }
}
