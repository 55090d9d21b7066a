// Asks the sentinels for the primary, one after the other until one answers.

/** How long a sentinel may be silent before the next one is asked as well, in milliseconds. */
const PATIENCE_MS = 200;

/** The order in which sentinels are asked. */
export class PrimaryLookup<Sentinel, Answer> {
  readonly #sentinels: readonly Sentinel[];
  readonly #ask: (sentinel: Sentinel) => Promise<Answer>;
  /** Index of the sentinel to ask first. */
  #first = 0;
  /** Index of the sentinel that was asked first in the last lookup; -1 after {@link prefer}. */
  #lastFirst = 0;

  constructor(sentinels: readonly Sentinel[], ask: (sentinel: Sentinel) => Promise<Answer>) {
    this.#sentinels = sentinels;
    this.#ask = ask;
  }

  /** Makes a sentinel the first to be asked: it has reported a change. */
  prefer(sentinel: Sentinel): void {
    this.#first = Math.max(0, this.#sentinels.indexOf(sentinel));
    this.#lastFirst = -1; // Preferred also if it is the one that was asked.
  }

  /** Makes the next sentinel the first to be asked, unless another one is preferred since. */
  advance(): void {
    if (this.#first === this.#lastFirst) this.#first = (this.#first + 1) % this.#sentinels.length;
  }

  /**
   * The first answer. The next sentinel is asked when the one before has failed, or is silent for a
   * while. Rejects with the first error when all have failed.
   */
  ask(): Promise<Answer> {
    const { length } = this.#sentinels;
    const first = this.#first;
    this.#lastFirst = first;
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
        this.#ask(sentinel).then(
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
