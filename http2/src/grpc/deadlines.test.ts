// Tests of the wheel of deadlines.
import { describe, expect, it } from "vitest";

import { type DeadlineEntry, Deadlines } from "./deadlines.ts";

const START_MS = 1_700_000_000_000;

function createWheel() {
  const expired: string[] = [];
  const wakes: number[] = [];
  const deadlines = new Deadlines(START_MS, () => wakes.push(1));
  const entry = (name: string, act: () => void = () => {}): DeadlineEntry => ({
    deadlineTick: 0,
    previousDeadline: undefined,
    nextDeadline: undefined,
    expire: () => {
      expired.push(name);
      act();
    },
  });
  const add = (name: string, ms: number, atMs = 0, act?: () => void) => {
    const added = entry(name, act);
    deadlines.add(added, START_MS + ms, START_MS + atMs);
    return added;
  };
  const advance = (ms: number) => {
    deadlines.advance(START_MS + ms);
    return expired.splice(0);
  };
  return { deadlines, wakes, add, advance };
}

describe("Deadlines", () => {
  it("expires entries when their time has passed, never before, and at most a tick later", () => {
    const { deadlines, add, advance } = createWheel();
    add("20", 20);
    add("25", 25);
    add("9000", 9000);
    expect(advance(19)).toEqual([]);
    expect(advance(20)).toEqual(["20"]);
    expect(advance(29)).toEqual([]);
    expect(advance(30)).toEqual(["25"]);
    expect(advance(8999)).toEqual([]);
    expect(advance(9000)).toEqual(["9000"]);
    expect(deadlines.count).toBe(0);
  });

  it("expires what lies turns of the wheel ahead", () => {
    const { add, advance } = createWheel();
    add("minute", 60_000);
    for (let ms = 0; ms < 60_000; ms += 10) expect(advance(ms)).toEqual([]);
    expect(advance(60_000)).toEqual(["minute"]);
  });

  it("expires everything when it was not advanced for long", () => {
    const { add, advance } = createWheel();
    for (let index = 0; index < 100; index++) add(String(index), index * 37);
    expect(advance(1_000_000)).toHaveLength(100);
  });

  it("expires with the next tick what has passed already", () => {
    const { add, advance } = createWheel();
    add("past", -500, 1000);
    expect(advance(1009)).toEqual([]);
    expect(advance(1010)).toEqual(["past"]);
  });

  it("forgets what was removed; removing twice does nothing", () => {
    const { deadlines, add, advance } = createWheel();
    add("first", 50);
    const second = add("second", 50);
    add("third", 50);
    deadlines.remove(second);
    deadlines.remove(second);
    expect(deadlines.count).toBe(2);
    expect(advance(100)).toEqual(["first", "third"]);
  });

  it("allows an entry to remove another that is due, and to add one", () => {
    const { deadlines, add, advance } = createWheel();
    add("first", 50, 0, () => {
      deadlines.remove(second);
      add("fourth", 60, 50);
    });
    const second = add("second", 50);
    add("third", 50);
    expect(advance(50)).toEqual(["first", "third"]);
    expect(advance(60)).toEqual(["fourth"]);
    expect(deadlines.count).toBe(0);
  });

  it("asks to be advanced when it is no longer empty", () => {
    const { wakes, add, advance } = createWheel();
    add("a", 10);
    add("b", 20);
    expect(wakes).toHaveLength(1);
    advance(50);
    add("c", 100, 60);
    expect(wakes).toHaveLength(2);
  });
});
