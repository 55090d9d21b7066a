import { describe, expect, it } from "vitest";
import { LOAD_GROUPS, rowName, selectGroups } from "./loads.ts";

const ALL = { only: [], hasEarlier: false, isQuick: false };

function names(options: Parameters<typeof selectGroups>[0]): readonly string[] {
  return selectGroups(options).flatMap(({ group, rows }) =>
    rows.flatMap(({ load, contenders }) => contenders.map((contender) => rowName(group.name, load.name, contender))),
  );
}

describe("selectGroups()", () => {
  it("has every load with the ceiling, and no earlier commit when none is named", () => {
    const rows = names(ALL);
    expect(rows).toContain("redis/8x64-1m/envoyproxy/ratelimit");
    expect(rows).toContain("redis/8x64-1m/nothing");
    expect(rows.filter((name) => name.endsWith("/earlier"))).toEqual([]);
    expect(rows.filter((name) => name.startsWith("everything-on/"))).toEqual([]);
    expect(new Set(rows).size).toBe(rows.length);
  });

  it("has the earlier commit when one is named", () => {
    const rows = names({ ...ALL, hasEarlier: true });
    expect(rows).toContain("memory/16x1/earlier");
    expect(rows).toContain("everything-on/8x64/earlier");
    expect(rows.filter((name) => name.endsWith("/earlier"))).toHaveLength(
      rows.filter((name) => name.endsWith("/weir")).length,
    );
  });

  it("has the rows of the earlier commit with those of Weir, and no ceiling, when only these are wanted", () => {
    expect(names({ only: ["earlier", "tls"], hasEarlier: true, isQuick: false })).toEqual([
      "tls/8x64/weir",
      "tls/8x64/earlier",
      "workers-tls/8x64/weir",
      "workers-tls/8x64/earlier",
    ]);
  });

  it("has only rows with every word, and their ceilings", () => {
    expect(names({ ...ALL, only: ["redis/", "16x1", "weir"] })).toEqual(["redis/16x1/weir", "redis/16x1/nothing"]);
  });

  it("has one load of each kind when it is quick", () => {
    const loads = selectGroups({ ...ALL, isQuick: true }).flatMap(({ rows }) => rows.map(({ load }) => load.name));
    expect(new Set(loads)).toEqual(new Set(["8x64", "16x1", "open-5k"]));
  });
});

describe("LOAD_GROUPS", () => {
  it("has either calls in flight or a rate in every load", () => {
    const loads = LOAD_GROUPS.flatMap((group) => group.loads);
    expect(loads.filter(({ inFlight, rate }) => (inFlight === undefined) === (rate === undefined))).toEqual([]);
  });
});
