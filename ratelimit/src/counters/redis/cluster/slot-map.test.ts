// Slots and their nodes: ranges, holes, single slots that move.
import { describe, expect, it } from "vitest";
import { SlotMap } from "./slot-map.ts";

describe("SlotMap", () => {
  it("ownerOf() is undefined before the first map", () => {
    const map = new SlotMap<string>();
    expect([map.ownerOf(0), map.ownerOf(16_383), map.isComplete, map.nodes().size]).toEqual([
      undefined,
      undefined,
      false,
      0,
    ]);
  });

  it("replace() gives each slot its node when a node has several ranges", () => {
    const map = new SlotMap<string>();
    map.replace([
      { first: 0, last: 0, node: "a" },
      { first: 1, last: 10_000, node: "b" },
      { first: 10_001, last: 16_383, node: "a" },
    ]);
    expect([0, 1, 10_000, 10_001, 16_383].map((slot) => map.ownerOf(slot))).toEqual(["a", "b", "b", "a", "a"]);
    expect([map.isComplete, [...map.nodes()]]).toEqual([true, ["a", "b"]]);
  });

  it("replace() leaves holes where no range is, and forgets what was before", () => {
    const map = new SlotMap<string>();
    map.replace([{ first: 0, last: 16_383, node: "gone" }]);
    map.replace([
      { first: 0, last: 99, node: "a" },
      { first: 101, last: 16_383, node: "b" },
    ]);
    expect([99, 100, 101].map((slot) => map.ownerOf(slot))).toEqual(["a", undefined, "b"]);
    expect([map.isComplete, [...map.nodes()]]).toEqual([false, ["a", "b"]]);
  });

  it("replace() takes the later one when ranges overlap", () => {
    const map = new SlotMap<string>();
    map.replace([
      { first: 0, last: 16_383, node: "a" },
      { first: 5, last: 6, node: "b" },
    ]);
    expect([4, 5, 6, 7].map((slot) => map.ownerOf(slot))).toEqual(["a", "b", "b", "a"]);
  });

  it("assign() moves one slot, and closes a hole", () => {
    const map = new SlotMap<string>();
    map.replace([{ first: 1, last: 16_383, node: "a" }]);
    map.assign(0, "b");
    expect([map.ownerOf(0), map.ownerOf(1), map.isComplete]).toEqual(["b", "a", true]);
    map.assign(1, "b");
    expect([map.ownerOf(1), map.ownerOf(2), map.isComplete]).toEqual(["b", "a", true]);
  });
});
