import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WorkQueue } from "./work-queue.ts";

const depths: number[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  depths.length = 0;
});

afterEach(() => {
  vi.useRealTimers();
});

function queue(): WorkQueue {
  return new WorkQueue({
    concurrency: 2,
    waitingMax: 2,
    waitMaxMs: 3000,
    refusal: () => new Error("busy"),
    onDepth: (depth) => depths.push(depth),
  });
}

function work(): { readonly run: () => Promise<string>; readonly finish: () => void; isStarted: boolean } {
  const gate = Promise.withResolvers<string>();
  const state = {
    isStarted: false,
    run: () => {
      state.isStarted = true;
      return gate.promise;
    },
    finish: () => gate.resolve("done"),
  };
  return state;
}

describe("WorkQueue", () => {
  it("runs two at a time, in order of arrival, and refuses the fifth", async () => {
    const waiting = queue();
    const works = [work(), work(), work(), work()];
    const results = works.map((item) => waiting.run(item.run));
    await expect(waiting.run(work().run)).rejects.toThrow("busy");
    expect(works.map((item) => item.isStarted)).toEqual([true, true, false, false]);
    works[1]?.finish();
    expect(await results[1]).toBe("done");
    await vi.advanceTimersByTimeAsync(0);
    expect(works.map((item) => item.isStarted)).toEqual([true, true, true, false]);
    for (const item of works) item.finish();
    await expect(Promise.all(results)).resolves.toEqual(["done", "done", "done", "done"]);
    expect(depths).toEqual([1, 2, 1, 0]);
  });

  it("refuses what waited too long, and its slot stays usable", async () => {
    const waiting = queue();
    const running = [work(), work()];
    const results = running.map((item) => waiting.run(item.run));
    const late = waiting.run(work().run);
    const refused = expect(late).rejects.toThrow("busy");
    await vi.advanceTimersByTimeAsync(3000);
    await refused;
    for (const item of running) item.finish();
    await Promise.all(results);
    const again = work();
    again.finish();
    expect(await waiting.run(again.run)).toBe("done");
  });

  it("frees its slot when work fails", async () => {
    const waiting = queue();
    for (let round = 0; round < 5; round++)
      await expect(waiting.run(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await waiting.run(() => Promise.resolve("fine"))).toBe("fine");
  });
});
