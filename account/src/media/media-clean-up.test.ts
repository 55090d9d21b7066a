import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MediaCleanUp } from "./media-clean-up.ts";

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

/** A user store with intents and a media store, in memory. */
class Fixture {
  /** By key, when they were made. */
  readonly intents = new Map<string, number>();
  readonly objects = new Set<string>();
  /** Objects that cannot be removed. */
  readonly locked = new Set<string>();
  isStoreDown = false;
  #nowMs = NOW_MS;
  readonly orphans: string[] = [];
  readonly lines: string[] = [];
  readonly cleanUp = new MediaCleanUp({
    media: {
      remove: (key) => {
        if (this.locked.has(key)) return Promise.reject(new Error("locked"));
        this.objects.delete(key);
        return Promise.resolve();
      },
    },
    store: {
      takeMediaIntents: (createdMaxMs) => {
        if (this.isStoreDown) return Promise.reject(new Error("the store is down"));
        const old = [...this.intents].filter(([, createdAtMs]) => createdAtMs <= createdMaxMs).map(([key]) => key);
        return Promise.resolve(old.slice(0, 2));
      },
      removeMediaIntent: (key) => {
        this.intents.delete(key);
        return Promise.resolve();
      },
    },
    clock: () => this.#nowMs,
    log: createLog({ level: "info", format: "text", write: (line) => this.lines.push(line) }),
    onOrphan: (result) => this.orphans.push(result),
  });

  /** An object with its intent, of that age. */
  add(key: string, ageMs: number): void {
    this.intents.set(key, NOW_MS - ageMs);
    this.objects.add(key);
  }

  async pass(ms: number): Promise<void> {
    this.#nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
}

let fixture: Fixture;

beforeEach(() => {
  vi.useFakeTimers();
  fixture = new Fixture();
});

afterEach(async () => {
  await fixture.cleanUp.stop();
  vi.useRealTimers();
});

describe("MediaCleanUp", () => {
  it("removes at its start what has an intent of an hour, and nothing else, and then the intent", async () => {
    for (const key of ["a", "b", "c"]) fixture.add(key, HOUR_MS);
    fixture.add("young", HOUR_MS - 1);
    fixture.objects.add("unknown");
    fixture.cleanUp.start();
    await fixture.pass(0);
    expect([...fixture.objects]).toEqual(["young", "unknown"]);
    expect([...fixture.intents.keys()]).toEqual(["young"]);
    expect(fixture.orphans).toEqual(["removed", "removed", "removed"]);
  });

  it("looks again each hour", async () => {
    fixture.cleanUp.start();
    fixture.add("a", 0);
    await fixture.pass(HOUR_MS - 1);
    expect(fixture.objects.size).toBe(1);
    await fixture.pass(1);
    expect(fixture.objects.size).toBe(0);
  });

  it("keeps the intent of an object that it cannot remove, counts it, and tries again in an hour", async () => {
    fixture.add("a", HOUR_MS);
    fixture.add("b", HOUR_MS);
    fixture.locked.add("a");
    fixture.cleanUp.start();
    await fixture.pass(0);
    expect([fixture.orphans, [...fixture.intents.keys()]]).toEqual([["failed", "removed"], ["a"]]);
    expect(fixture.lines.join("")).toContain("Cannot remove some images without a user");
    fixture.locked.clear();
    await fixture.pass(HOUR_MS);
    expect([fixture.objects.size, fixture.intents.size]).toEqual([0, 0]);
  });

  it("survives a store that is down", async () => {
    fixture.add("a", HOUR_MS);
    fixture.isStoreDown = true;
    fixture.cleanUp.start();
    await fixture.pass(0);
    expect(fixture.lines.join("")).toContain("Cannot clean up the media store");
    fixture.isStoreDown = false;
    await fixture.pass(HOUR_MS);
    expect(fixture.objects.size).toBe(0);
  });
});
