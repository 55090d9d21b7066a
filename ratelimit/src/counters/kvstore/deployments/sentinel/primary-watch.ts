// When the sentinels are asked for the primary, and in which order: regularly, at once when
// something has changed, and again and again while the primary is away. It knows no connection;
// what an answer means is the matter of its owner.
import type { Backoff } from "@weir/common/backoff/backoff";

/**
 * Wait between two questions while all is well, in milliseconds. News comes by subscription; this
 * is for news that got lost.
 */
const REGULAR_MS = 5_000;

/** The same while the primary is away: a new one is found so soon after its promotion. */
const TROUBLED_MS = 250;

/** Shortest wait between an answer and the next question, whatever happens. */
const SOON_MS = 20;

/** Part of a wait that is drawn at random, so that processes do not ask in step. */
const JITTER = 0.2;

/** How long a sentinel is waited for before the next one is asked as well. */
const PATIENCE_MS = 200;

/** What it works with. */
export interface PrimaryWatchDeps<Sentinel, Answer> {
  readonly ask: (sentinel: Sentinel) => Promise<Answer>;
  /** Hears each answer. */
  readonly answered: (answer: Answer) => void;
  /** Hears that no sentinel has answered, with the error of the first one that was asked. */
  readonly failed: (error: unknown) => void;
  /** Whether the primary is away. */
  readonly isTroubled: () => boolean;
  /** Waits between questions until the first answer. */
  readonly startBackoff: Backoff;
  readonly random: () => number;
}

/** The watch over sentinels, each told apart by what its owner knows it by. */
export class PrimaryWatch<Sentinel, Answer> {
  readonly #deps: PrimaryWatchDeps<Sentinel, Answer>;
  readonly #sentinels: readonly Sentinel[];
  #state: "idle" | "asking" | "closed" = "closed";
  /** Where to begin the next time. */
  #first = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Whether somebody wanted a newer answer than the one under way. */
  #isWanted = false;
  #isKnown = false;

  constructor(deps: PrimaryWatchDeps<Sentinel, Answer>, sentinels: readonly Sentinel[]) {
    this.#deps = deps;
    this.#sentinels = sentinels;
  }

  /** Asks for the first time, now. */
  start(): void {
    this.#state = "idle";
    this.#ask();
  }

  /**
   * Asks soon, because the answer may have changed; `sentinel` is the first to be asked, for it
   * brought the news.
   */
  soon(sentinel?: Sentinel): void {
    if (sentinel !== undefined) this.#first = Math.max(0, this.#sentinels.indexOf(sentinel));
    if (this.#isWanted) return;
    this.#isWanted = true;
    if (this.#state === "idle") this.#schedule(SOON_MS);
  }

  /** Asks no more. */
  close(): void {
    this.#state = "closed";
    clearTimeout(this.#timer);
  }

  #schedule(waitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), waitMs);
  }

  #ask(): void {
    if (this.#state !== "idle") return;
    this.#state = "asking";
    this.#isWanted = false;
    this.#askInTurn().then(
      (answer) => this.#over(() => this.#deps.answered(answer), true),
      (error: unknown) => this.#over(() => this.#deps.failed(error), false),
    );
  }

  #over(tell: () => void, isAnswered: boolean): void {
    if (this.#state !== "asking") return; // Closed meanwhile.
    this.#isKnown ||= isAnswered;
    tell();
    this.#state = "idle";
    this.#schedule(this.#waitMs());
  }

  #waitMs(): number {
    if (!this.#isKnown) return this.#deps.startBackoff.nextMs();
    if (this.#isWanted) return SOON_MS;
    if (!this.#deps.isTroubled()) return this.#jittered(REGULAR_MS);
    this.#first += 1; // What this one said is of no use: the next one may know better.
    return this.#jittered(TROUBLED_MS);
  }

  #jittered(waitMs: number): number {
    return waitMs * (1 - JITTER * this.#deps.random());
  }

  /**
   * Asks one after the other until one answers; each next one when the one before has failed, or is
   * silent for a while.
   */
  #askInTurn(): Promise<Answer> {
    const { length } = this.#sentinels;
    const first = this.#first % length;
    return new Promise((resolve, reject) => {
      const errors: Error[] = [];
      let asked = 0;
      let timer: NodeJS.Timeout | undefined;
      const next = (): void => {
        clearTimeout(timer);
        const sentinel = this.#sentinels[(first + asked) % length];
        if (asked === length || sentinel === undefined) return;
        asked += 1;
        timer = setTimeout(next, PATIENCE_MS);
        this.#deps.ask(sentinel).then(
          (answer) => {
            clearTimeout(timer);
            asked = length;
            resolve(answer);
          },
          (error: unknown) => {
            errors.push(error instanceof Error ? error : new Error(String(error)));
            if (errors.length === length) reject(errors[0] ?? new Error("no sentinel was asked"));
            else next();
          },
        );
      };
      next();
    });
  }
}
