import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WorkQueue } from "./work-queue.ts";

/** Bounds of the queues below; the mean duration of their pieces is DURATION_MS. */
const CONCURRENCY = 2;
const WAITING_MAX = 16;
const WAIT_MAX_MS = 3000;
const DURATION_MS = 250;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** The networks of a piece, from wide to narrow: those of "x1 of b in a" are a, b and x, that of "x1" is x. */
function networksOf(name: string): readonly string[] {
  const [piece = "", ...networks] = name.split(/ of | in /);
  return [...networks.reverse(), piece.charAt(0)];
}

/** A queue whose pieces each take `durationMs` of the fake clock, and the order in which they started. */
class QueueFixture {
  readonly started: string[] = [];
  readonly refused: string[] = [];
  readonly depths: number[] = [];
  durationMs = DURATION_MS;
  #nowMs = 0;
  readonly #running: PromiseWithResolvers<void>[] = [];
  readonly #queue: WorkQueue;

  constructor(options: { readonly placesMax?: number; readonly concurrency?: number } = {}) {
    this.#queue = new WorkQueue({
      concurrency: options.concurrency ?? CONCURRENCY,
      placesMax: options.placesMax ?? WAITING_MAX,
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
      this.#queue.run(networksOf(name), work).catch((error: unknown) => {
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

  it("gives one group all places that no other wants", async () => {
    const queue = new QueueFixture({ placesMax: 4 });
    await queue.send("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8");
    expect(queue.refused).toEqual(["a7", "a8"]);
    await queue.send("b1", "b2", "b3");
    expect(queue.refused).toEqual(["a7", "a8", "a6", "a5", "b3"]);
  });

  it("lets networks take turns at each level, so that many addresses of one have the turns of one", async () => {
    const queue = new QueueFixture({ concurrency: 1, placesMax: 64 });
    await queue.send("r1", "x1 of b in a", "x2 of b in a", "y1 of b in a", "z1 of c in a", "w1", "w2", "w3");
    await queue.finish(8);
    expect(queue.started.map((name) => name.slice(0, 2))).toEqual(["r1", "x1", "w1", "z1", "w2", "y1", "w3", "x2"]);
  });

  it("refuses the newest piece of the largest group when a full queue gets a piece of a smaller one", async () => {
    const queue = new QueueFixture();
    await queue.send("r1", "r2"); // They run.
    for (const group of ["a", "b", "c", "d"]) await queue.send(`${group}1`, `${group}2`, `${group}3`, `${group}4`);
    await queue.send("e1", "e2", "e3", "e4");
    expect(queue.refused).toEqual(["d4", "c4", "b4", "e4"]); // With e4 the groups a and e would have four.
    expect(queue.depths.at(-1)).toBe(WAITING_MAX);
    await queue.finish(7);
    expect(queue.started.slice(2)).toEqual(["a1", "b1", "c1", "d1", "e1", "a2", "b2"]);
  });

  it("refuses a piece when as many groups as places wait", async () => {
    const queue = new QueueFixture({ placesMax: 4 });
    await queue.send("r1", "s1", "a1", "b1", "c1", "d1", "e1");
    expect(queue.refused).toEqual(["e1"]);
  });

  it("refuses a piece whose turn would come after more than three seconds, by the measured duration", async () => {
    const queue = new QueueFixture({ placesMax: 64, concurrency: 1 });
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
    const queue = new QueueFixture({ placesMax: 64, concurrency: 1 });
    queue.durationMs = 2000;
    await queue.measure();
    queue.durationMs = 100;
    for (let piece = 0; piece < 20; piece++) await queue.measure();
    await queue.send("a1", "a2", "a3", "a4", "a5", "a6");
    expect(queue.refused).toEqual([]);
  });

  it("refuses a piece that has waited for three seconds, and its place is free again", async () => {
    const queue = new QueueFixture({ placesMax: 4 });
    await queue.send("a1", "a2", "a3");
    await vi.advanceTimersByTimeAsync(WAIT_MAX_MS);
    expect(queue.refused).toEqual(["a3"]);
    await queue.send("a4");
    await queue.finish(2);
    expect(queue.started).toEqual(["a1", "a2", "a4"]);
    expect(queue.depths).toEqual([1, 0, 1, 0]);
  });

  it("keeps a place for a piece to come, and aborts its call when it must make place", async () => {
    const queue = new WorkQueue({
      concurrency: 1,
      placesMax: 2,
      waitMaxMs: WAIT_MAX_MS,
      refusal: () => new Error("busy"),
      nowMs: () => 0,
    });
    const running = Promise.withResolvers<void>();
    const first = queue.run(["r"], () => running.promise);
    const [early, late] = [new AbortController(), new AbortController()];
    const earlyPlace = queue.reserve(["a"], early);
    const latePlace = queue.reserve(["a"], late);
    expect(() => queue.reserve(["a"], new AbortController())).toThrow("busy");
    const other = queue.run(["b"], () => Promise.resolve("other"));
    expect([early.signal.aborted, late.signal.aborted]).toEqual([false, true]);
    await expect(latePlace.run(() => Promise.resolve())).rejects.toThrow("busy");
    expect(() => queue.reserve(["c"], new AbortController())).toThrow("busy");
    const own = earlyPlace.run(() => Promise.resolve("own"));
    running.resolve();
    expect(await Promise.all([first, other, own])).toEqual([undefined, "other", "own"]);
    using free = queue.reserve(["c"], new AbortController());
    expect(await free.run(() => Promise.resolve("free"))).toBe("free");
  });

  it("ends the wait of a piece whose call is aborted", async () => {
    const queue = new WorkQueue({
      concurrency: 1,
      placesMax: 2,
      waitMaxMs: WAIT_MAX_MS,
      refusal: () => new Error("busy"),
      nowMs: () => 0,
    });
    const running = Promise.withResolvers<void>();
    const first = queue.run(["r"], () => running.promise);
    const call = new AbortController();
    const waiting = queue.run(["a"], () => Promise.resolve(), call);
    const next = queue.run(["b"], () => Promise.resolve("next"));
    call.abort(new Error("the client left"));
    await expect(waiting).rejects.toThrow("the client left");
    running.resolve();
    expect(await Promise.all([first, next])).toEqual([undefined, "next"]);
  });

  it("frees its slot when work fails, and does not learn from it", async () => {
    let nowMs = 0;
    const queue = new WorkQueue({
      concurrency: 1,
      placesMax: 64,
      waitMaxMs: WAIT_MAX_MS,
      refusal: () => new Error("busy"),
      nowMs: () => nowMs,
    });
    const fail = (): Promise<never> => {
      nowMs += 60_000;
      return Promise.reject(new Error("broken"));
    };
    for (let round = 0; round < 5; round++) await expect(queue.run(["a"], fail)).rejects.toThrow("broken");
    const [first, second] = [queue.run(["a"], () => Promise.resolve(1)), queue.run(["a"], () => Promise.resolve(2))];
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });
});
