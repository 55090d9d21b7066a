import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WorkQueue } from "./work-queue.ts";

/** Bounds of the queues below; the mean duration of their pieces is DURATION_MS. */
const CONCURRENCY = 2;
const WAITING_MAX = 16;
const GROUP_PLACES = 4;
const WAIT_MAX_MS = 3000;
const DURATION_MS = 250;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A queue whose pieces each take `durationMs` of the fake clock, and the order in which they started. */
class QueueFixture {
  readonly started: string[] = [];
  readonly refused: string[] = [];
  readonly depths: number[] = [];
  durationMs = DURATION_MS;
  #nowMs = 0;
  readonly #running: PromiseWithResolvers<void>[] = [];
  readonly #queue: WorkQueue;

  constructor(options: { readonly waitingMax?: number; readonly concurrency?: number } = {}) {
    this.#queue = new WorkQueue({
      concurrency: options.concurrency ?? CONCURRENCY,
      waitingMax: options.waitingMax ?? WAITING_MAX,
      waitMaxMs: WAIT_MAX_MS,
      refusal: () => new Error("busy"),
      nowMs: () => this.#nowMs,
      onDepth: (depth) => this.depths.push(depth),
    });
  }

  /** Sends a piece called `name`, such as "a3" of the group "a". */
  async send(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const work = (): Promise<void> => {
        this.started.push(name);
        const piece = Promise.withResolvers<void>();
        this.#running.push(piece);
        return piece.promise;
      };
      this.#queue.run(name.charAt(0), work).catch((error: unknown) => {
        expect(String(error)).toBe("Error: busy");
        this.refused.push(name);
      });
      await vi.advanceTimersByTimeAsync(0);
    }
  }

  /** Ends the piece that runs the longest. */
  async finish(pieces = 1): Promise<void> {
    for (let piece = 0; piece < pieces; piece++) {
      this.#nowMs += this.durationMs;
      this.#running.shift()?.resolve();
      await vi.advanceTimersByTimeAsync(0);
    }
  }

  /** Lets the queue learn how long a piece takes. */
  async measure(): Promise<void> {
    await this.send("m");
    await this.finish();
    this.started.length = 0;
    this.depths.length = 0;
  }
}

describe("WorkQueue", () => {
  it("serves one group in the order of arrival, two at a time", async () => {
    const queue = new QueueFixture();
    await queue.send("a1", "a2", "a3", "a4");
    expect(queue.started).toEqual(["a1", "a2"]);
    await queue.finish();
    expect(queue.started).toEqual(["a1", "a2", "a3"]);
    await queue.finish(3);
    expect(queue.started).toEqual(["a1", "a2", "a3", "a4"]);
    expect(queue.depths).toEqual([1, 2, 1, 0]);
  });

  it("lets groups take turns, however much one of them sends", async () => {
    const queue = new QueueFixture();
    await queue.send("a1", "a2", "a3", "a4", "a5", "b1", "b2", "c1", "a6");
    await queue.finish(9);
    expect(queue.started).toEqual(["a1", "a2", "a3", "b1", "c1", "a4", "b2", "a5", "a6"]);
    expect(queue.refused).toEqual([]);
  });

  it("serves a group that comes to a full backlog of another one after one piece", async () => {
    const queue = new QueueFixture();
    await queue.send("a1", "a2", "a3", "a4", "a5", "a6", "b1");
    await queue.finish(2);
    expect(queue.started).toEqual(["a1", "a2", "a3", "b1"]);
  });

  it("gives one group a quarter of the places", async () => {
    const queue = new QueueFixture();
    await queue.send("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "b1");
    expect(queue.refused).toEqual(["a7", "a8"]);
    expect(queue.depths.at(-1)).toBe(GROUP_PLACES + 1);
  });

  it("refuses the newest piece of the largest group when a full queue gets a piece of a smaller one", async () => {
    const queue = new QueueFixture();
    await queue.send("r1", "r2"); // They run.
    for (const group of ["a", "b", "c", "d"]) await queue.send(`${group}1`, `${group}2`, `${group}3`, `${group}4`);
    await queue.send("e1", "e2", "e3", "e4");
    expect(queue.refused).toEqual(["a4", "b4", "c4", "e4"]); // With e4 the groups d and e would have four.
    expect(queue.depths.at(-1)).toBe(WAITING_MAX);
    await queue.finish(7);
    expect(queue.started.slice(2)).toEqual(["a1", "b1", "c1", "d1", "e1", "a2", "b2"]);
  });

  it("refuses a piece when as many groups as places wait", async () => {
    const queue = new QueueFixture({ waitingMax: 4 });
    await queue.send("r1", "s1", "a1", "b1", "c1", "d1", "e1");
    expect(queue.refused).toEqual(["e1"]);
  });

  it("refuses a piece whose turn would come after more than three seconds, by the measured duration", async () => {
    const queue = new QueueFixture({ waitingMax: 64, concurrency: 1 });
    queue.durationMs = 1000;
    await queue.measure();
    await queue.send("a1", "a2", "a3"); // a3 would start in 2 s: the rest of a1, and a2.
    expect(queue.refused).toEqual([]);
    await queue.send("a4", "a5");
    expect(queue.refused).toEqual(["a5"]);
    await queue.send("b1"); // Before a3, after a2.
    expect(queue.refused).toEqual(["a5"]);
    await queue.send("b2"); // After a3 and b1: 5 pieces.
    expect(queue.refused).toEqual(["a5", "b2"]);
  });

  it("expects what it measured last, and ignores pieces that failed", async () => {
    const queue = new QueueFixture({ waitingMax: 64, concurrency: 1 });
    queue.durationMs = 2000;
    await queue.measure();
    queue.durationMs = 100;
    for (let piece = 0; piece < 20; piece++) await queue.measure();
    await queue.send("a1", "a2", "a3", "a4", "a5", "a6");
    expect(queue.refused).toEqual([]);
  });

  it("refuses a piece that has waited for three seconds, and its place is free again", async () => {
    const queue = new QueueFixture({ waitingMax: 4 });
    await queue.send("a1", "a2", "a3");
    await vi.advanceTimersByTimeAsync(WAIT_MAX_MS);
    expect(queue.refused).toEqual(["a3"]);
    await queue.send("a4");
    await queue.finish(2);
    expect(queue.started).toEqual(["a1", "a2", "a4"]);
    expect(queue.depths).toEqual([1, 0, 1, 0]);
  });

  it("frees its slot when work fails, and does not learn from it", async () => {
    let nowMs = 0;
    const queue = new WorkQueue({
      concurrency: 1,
      waitingMax: 64,
      waitMaxMs: WAIT_MAX_MS,
      refusal: () => new Error("busy"),
      nowMs: () => nowMs,
    });
    const fail = (): Promise<never> => {
      nowMs += 60_000;
      return Promise.reject(new Error("broken"));
    };
    for (let round = 0; round < 5; round++) await expect(queue.run("a", fail)).rejects.toThrow("broken");
    const [first, second] = [queue.run("a", () => Promise.resolve(1)), queue.run("a", () => Promise.resolve(2))];
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });
});
