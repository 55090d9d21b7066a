// What every counter backend must do, as tests that run over each of them; and the batch that tests count with.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CountBatch, CountedCheck, Counter } from "./counter.ts";
import type { StoreError } from "./store-error.ts";

/** Start of the windows in this suite, in whole seconds since the epoch; far in the future, so that no store has expired anything of it. */
const WINDOW_START = 4_000_000_200;

/** A check of a minute's window. */
export function check(key: string, addend = 1, windowStartSeconds = WINDOW_START, windowSeconds = 60): CountedCheck {
  return { key: `${key}_${windowStartSeconds}`, windowStartSeconds, windowSeconds, addend, after: Number.NaN };
}

/** A call that waits for its counts. It insists on being answered once, with every count written. */
export class WaitingBatch implements CountBatch {
  readonly checks: readonly CountedCheck[];
  readonly deadlineMs: number | undefined;
  pending = 0;
  readonly #answer = Promise.withResolvers<readonly number[]>();
  #isAnswered = false;

  constructor(checks: readonly CountedCheck[], deadlineMs?: number) {
    this.checks = checks;
    this.deadlineMs = deadlineMs;
    this.#answer.promise.catch(() => undefined); // A test that expects no failure asks `counts` for it.
  }

  /** The counts in the order of the checks; rejects with the store's error. */
  get counts(): Promise<readonly number[]> {
    return this.#answer.promise;
  }

  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  counted(): void {
    this.#insistOnFirst();
    const counts = this.checks.map(({ after }) => after);
    if (counts.some((count) => Number.isNaN(count))) throw new Error("counted() came before every count was written");
    this.#answer.resolve(counts);
  }

  failed(error: StoreError): void {
    this.#insistOnFirst();
    this.#answer.reject(error);
  }

  #insistOnFirst(): void {
    if (this.#isAnswered) throw new Error("A batch must be answered once");
    this.#isAnswered = true;
  }
}

/** Counts checks in one call. */
export function count(counter: Counter, ...checks: readonly CountedCheck[]): Promise<readonly number[]> {
  const batch = new WaitingBatch(checks);
  counter.count(batch);
  return batch.counts;
}

/** The tests, over a backend that `open` makes. */
export function describeCounter(
  name: string,
  open: () => Promise<{ readonly counter: Counter; readonly close: () => Promise<void> }>,
): void {
  describe(`Counter: ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>>;
    let counter: Counter;
    beforeAll(async () => {
      opened = await open();
      ({ counter } = opened);
      await counter.start?.();
    });
    afterAll(async () => {
      await counter.stop?.();
      await opened.close();
    });

    it("count() adds to the counter when a key is counted again", async () => {
      expect(await count(counter, check("again"))).toEqual([1]);
      expect(await count(counter, check("again"))).toEqual([2]);
      expect(await count(counter, check("again", 5))).toEqual([7]);
    });

    it("count() reads when the addend is 0", async () => {
      expect(await count(counter, check("read", 0))).toEqual([0]);
      expect(await count(counter, check("read", 3))).toEqual([3]);
      expect(await count(counter, check("read", 0))).toEqual([3]);
      expect(await count(counter, check("read", 1))).toEqual([4]);
    });

    it("count() gives each check its own number when a key stands twice in a call", async () => {
      expect(await count(counter, check("twice", 2), check("other"), check("twice", 3))).toEqual([2, 1, 5]);
    });

    it("count() gives consecutive numbers in order of arrival when calls of one turn share a key", async () => {
      const calls = [1, 2, 0, 4].map((addend) => count(counter, check("turn", addend)));
      expect(await Promise.all(calls)).toEqual([[1], [3], [3], [7]]);
    });

    it("count() keeps windows apart when the start differs", async () => {
      expect(await count(counter, check("window", 1, 4_000_000_200))).toEqual([1]);
      expect(await count(counter, check("window", 1, 4_000_000_260))).toEqual([1]);
      expect(await count(counter, check("window", 1, 4_000_000_200))).toEqual([2]);
    });

    it("count() keeps keys apart when they differ in the smallest way", async () => {
      const keys = ["a b", "a  b", "a\r\nb", "a\nb", "ä", "a\u0308", "A", "😀", "", "*", "$3\r\nfoo"];
      expect(await count(counter, ...keys.map((key) => check(`odd-${key}`)))).toEqual(keys.map(() => 1));
      expect(await count(counter, ...keys.map((key) => check(`odd-${key}`)))).toEqual(keys.map(() => 2));
    });

    it("count() counts beyond 32 bits", async () => {
      expect(await count(counter, check("large", 4_294_967_295))).toEqual([4_294_967_295]);
      expect(await count(counter, check("large", 4_294_967_295))).toEqual([8_589_934_590]);
    });

    it("count() answers a call of a thousand keys", async () => {
      const keys = Array.from({ length: 1000 }, (_, index) => check(`many-${index}`));
      expect(await count(counter, ...keys)).toEqual(keys.map(() => 1));
    });

    it("count() loses nothing when ten thousand calls come at once", async () => {
      const calls = Array.from({ length: 10_000 }, (_, index) => count(counter, check(`flood-${index % 100}`)));
      const counts = (await Promise.all(calls)).map(([first]) => first);
      expect(Math.max(...counts.map(Number))).toBe(100);
      expect(counts.filter((each) => each === 100)).toHaveLength(100);
      expect(counts.filter((each) => each === 1)).toHaveLength(100);
    });
  });
}
