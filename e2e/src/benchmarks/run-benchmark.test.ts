import { describe, expect, it } from "vitest";
import { turnsOf } from "./run-benchmark.ts";

describe("turnsOf()", () => {
  it("has each item on each contender in each round, and turns the order of contenders", () => {
    const items = [
      { id: "a", contenders: ["weir", "earlier"] },
      { id: "b", contenders: ["weir"] },
    ];
    const turns = [...turnsOf(2, items)].map(({ round, item, contender }) => `${round} ${item.id}/${contender}`);
    expect(turns).toEqual(["1 a/weir", "1 a/earlier", "1 b/weir", "2 a/earlier", "2 a/weir", "2 b/weir"]);
  });
});
