// The requirements on every counter backend, as tests that run over each of them; and the batch that
// tests count with.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CountBatch, CountedCheck, Counter } from "./counter.ts";
import type { StoreError } from "./store-error.ts";

/**
 * Start of the windows in this suite, in whole seconds since the epoch; far in the future, so that
 * no store has expired anything of it.
 */
const WINDOW_START = 4_000_000_200;

/** A check of a minute's window. */
export function check(key: string, addend = 1, windowStartSeconds = WINDOW_START, windowSeconds = 60): CountedCheck {
  return { key: `${key}_${windowStartSeconds}`, windowStartSeconds, windowSeconds, addend, after: Number.NaN };
}

/**
 * A call that waits for its counts. It insists on being answered once, with every count written.
 */
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

/** Reads checks in one call. */
export function read(counter: Counter, ...checks: readonly CountedCheck[]): Promise<readonly number[]> {
  const batch = new WaitingBatch(checks);
  counter.read(batch);
  return batch.counts;
}

/** A backend under test, with the means to close it and to wait for it. */
export interface CounterUnderTest {
  readonly counter: Counter;
  readonly close: () => Promise<void>;
  /**
   * Resolves when every increment of the calls that were answered is in the store. Given by
   * backends that increment in the background.
   */
  readonly settle?: () => Promise<void>;
}

/** How a backend counts, where the interface allows more than one way. */
export interface CounterAbilities {
  /**
   * True if calls and checks that come together see each other's increments. A backend without it
   * reads, predicts, answers and increments afterwards: its numbers are exact only once it has
   * settled. Default true.
   */
  readonly countsAtOnce?: boolean;
  /** True if any text can be a key. Default true. */
  readonly takesAnyKey?: boolean;
}

/** The tests, over a backend that `open` makes. */
export function describeCounter(
  name: string,
  open: () => Promise<CounterUnderTest>,
  { countsAtOnce = true, takesAnyKey = true }: CounterAbilities = {},
): void {
  describe(`Counter: ${name}`, () => {
    let opened: CounterUnderTest;
    let counter: Counter;
    /** Counts checks in one call, after what came before. */
    const countSettled = async (...checks: readonly CountedCheck[]): Promise<readonly number[]> => {
      await opened.settle?.();
      return await count(counter, ...checks);
    };
    const itAtOnce = (test: string, run: () => Promise<void>): void => {
      if (countsAtOnce) it(test, run);
    };
    /** Reads checks in one call, after what came before. */
    const readSettled = async (...checks: readonly CountedCheck[]): Promise<readonly number[]> => {
      await opened.settle?.();
      return await read(counter, ...checks);
    };
    const itAfterwards = (test: string, run: () => Promise<void>): void => {
      if (!countsAtOnce) it(test, run);
    };
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
      expect(await countSettled(check("again"))).toEqual([1]);
      expect(await countSettled(check("again"))).toEqual([2]);
      expect(await countSettled(check("again", 5))).toEqual([7]);
    });

    it("count() reads when the addend is 0", async () => {
      expect(await countSettled(check("read", 0))).toEqual([0]);
      expect(await countSettled(check("read", 3))).toEqual([3]);
      expect(await countSettled(check("read", 0))).toEqual([3]);
      expect(await countSettled(check("read", 1))).toEqual([4]);
    });

    it("count() takes hits away, not below 0, when the addend is negative", async () => {
      expect(await countSettled(check("refund", 5))).toEqual([5]);
      expect(await countSettled(check("refund", -3))).toEqual([2]);
      expect(await countSettled(check("refund", 1))).toEqual([3]);
      expect(await countSettled(check("refund", -100))).toEqual([0]);
      expect(await countSettled(check("refund", 2))).toEqual([2]);
      expect(await countSettled(check("refund-absent", -1))).toEqual([0]);
      expect(await countSettled(check("refund-absent", 1))).toEqual([1]);
    });

    itAtOnce("count() applies refunds in order of arrival when calls of one turn share a key", async () => {
      const calls = [5, -3, -4, 2, 3, -1, -1, 0, -9].map((addend) => count(counter, check("refund-turn", addend)));
      expect((await Promise.all(calls)).flat()).toEqual([5, 2, 0, 2, 5, 4, 3, 3, 0]);
      expect(await countSettled(check("refund-turn", 7), check("refund-turn", -2))).toEqual([7, 5]);
    });

    itAfterwards("count() adds the sum of increments and refunds when calls of one turn share a key", async () => {
      await Promise.all([5, -3, -1, 2].map((addend) => count(counter, check("refund-turn", addend))));
      expect(await countSettled(check("refund-turn", 0))).toEqual([3]);
    });

    itAtOnce("count() gives each check its own number when a key occurs twice in a call", async () => {
      expect(await countSettled(check("twice", 2), check("other"), check("twice", 3))).toEqual([2, 1, 5]);
    });

    itAfterwards("count() counts each check when a key occurs twice in a call", async () => {
      expect(await countSettled(check("twice", 2), check("other"), check("twice", 3))).toEqual([2, 1, 3]);
      expect(await countSettled(check("twice", 0))).toEqual([5]);
    });

    itAtOnce("count() gives consecutive numbers in order of arrival when calls of one turn share a key", async () => {
      const calls = [1, 2, 0, 4].map((addend) => count(counter, check("turn", addend)));
      expect(await Promise.all(calls)).toEqual([[1], [3], [3], [7]]);
    });

    itAfterwards("count() counts each call when calls of one turn share a key", async () => {
      const calls = [1, 2, 0, 4].map((addend) => count(counter, check("turn", addend)));
      expect(await Promise.all(calls)).toEqual([[1], [2], [0], [4]]);
      expect(await countSettled(check("turn", 0))).toEqual([7]);
    });

    it("count() keeps windows apart when the start differs", async () => {
      expect(await countSettled(check("window", 1, 4_000_000_200))).toEqual([1]);
      expect(await countSettled(check("window", 1, 4_000_000_260))).toEqual([1]);
      expect(await countSettled(check("window", 1, 4_000_000_200))).toEqual([2]);
    });

    it("count() keeps keys apart when they differ in the smallest way", async () => {
      const anyKeys = ["a b", "a  b", "a\r\nb", "a\nb", "$3\r\nfoo"];
      const keys = ["ä", "a\u0308", "A", "😀", "", "*", ...(takesAnyKey ? anyKeys : [])];
      expect(await countSettled(...keys.map((key) => check(`odd-${key}`)))).toEqual(keys.map(() => 1));
      expect(await countSettled(...keys.map((key) => check(`odd-${key}`)))).toEqual(keys.map(() => 2));
    });

    it("count() counts beyond 32 bits", async () => {
      expect(await countSettled(check("large", 4_294_967_295))).toEqual([4_294_967_295]);
      expect(await countSettled(check("large", 4_294_967_295))).toEqual([8_589_934_590]);
    });

    it("count() answers a call of a thousand keys", async () => {
      const keys = Array.from({ length: 1000 }, (_, index) => check(`many-${index}`));
      expect(await countSettled(...keys)).toEqual(keys.map(() => 1));
    });

    it("count() loses nothing when ten thousand calls arrive together", async () => {
      const calls = Array.from({ length: 10_000 }, (_, index) => count(counter, check(`flood-${index % 100}`)));
      const counts = (await Promise.all(calls)).map(([first]) => first);
      expect(await countSettled(...Array.from({ length: 100 }, (_, index) => check(`flood-${index}`, 0)))).toEqual(
        Array.from({ length: 100 }, () => 100),
      );
      if (!countsAtOnce) return;
      expect(Math.max(...counts.map(Number))).toBe(100);
      expect(counts.filter((each) => each === 100)).toHaveLength(100);
      expect(counts.filter((each) => each === 1)).toHaveLength(100);
    });

    it("read() gives the count and changes nothing when a key was counted", async () => {
      expect(await countSettled(check("seen", 7))).toEqual([7]);
      expect(await readSettled(check("seen"))).toEqual([7]);
      expect(await readSettled(check("seen"))).toEqual([7]);
      expect(await countSettled(check("seen", 2))).toEqual([9]);
    });

    it("read() gives 0 and creates nothing when a key was never counted", async () => {
      expect(await readSettled(check("unseen", 5))).toEqual([0]);
      expect(await countSettled(check("unseen", 5))).toEqual([5]);
    });

    it("read() gives every check its own number when keys of several windows occur in a call, some of them twice", async () => {
      await count(counter, check("row", 3), check("row", 4, 4_000_000_260), check("column", 5, 4_000_000_200, 3600));
      const keys = [
        check("row"),
        check("column", 1, 4_000_000_200, 3600),
        check("empty"),
        check("row", 9),
        check("row", 1, 4_000_000_260),
      ];
      expect(await readSettled(...keys)).toEqual([3, 5, 0, 3, 4]);
    });

    itAtOnce("read() and count() keep the order in which they came when they share a turn", async () => {
      const answers = [
        count(counter, check("order", 2)),
        read(counter, check("order")),
        count(counter, check("order", 3)),
        read(counter, check("order")),
      ];
      expect(await Promise.all(answers)).toEqual([[2], [2], [5], [5]]);
    });

    itAtOnce("count() counts a batch that was read", async () => {
      const checks = [check("same", 4), check("same", 1)];
      expect(await read(counter, ...checks)).toEqual([0, 0]);
      expect(await count(counter, ...checks)).toEqual([4, 5]);
    });

    it("read() answers a call of a thousand keys", async () => {
      const keys = Array.from({ length: 1000 }, (_, index) => check(`wide-${index}`, index + 1));
      await count(counter, ...keys);
      expect(await readSettled(...keys)).toEqual(keys.map((_, index) => index + 1));
    });
  });
}
