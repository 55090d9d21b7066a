import { create } from "@bufbuild/protobuf";
import { FleetKeysSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import { ObservationSchema } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { CountSeries } from "@weir/proto/observe/count-series";
import { describe, expect, it } from "vitest";

import { countsOf, keyTables, rejectingSince, topRules } from "./rules.ts";

const END = 1_000_000;
const RULE = { fleet: "web", domain: "shop", path: "shop.user" };

/** A series whose rule had these hits over the limit in the last steps of ten seconds. */
function seriesOf(overLimit: readonly number[], path = RULE.path): CountSeries {
  const series = new CountSeries();
  const observation = create(ObservationSchema, {
    startSeconds: BigInt(END - overLimit.length * 10),
    stepSeconds: 10,
    steps: overLimit.length,
    rules: [{ rule: { domain: "shop", path }, hits: overLimit.map(() => 1), overLimit: [...overLimit] }],
  });
  series.add(observation, END);
  series.advance(END);
  return series;
}

describe("rejectingSince()", () => {
  it.each([
    { when: "it rejects", over: [0, 0, 1, 2], since: { seconds: END - 20, isEarlier: false } },
    {
      when: "pauses are shorter than a minute",
      over: [3, 0, 0, 0, 0, 0, 0, 1],
      since: { seconds: END - 80, isEarlier: false },
    },
    { when: "a pause is longer", over: [3, 0, 0, 0, 0, 0, 0, 0, 1], since: { seconds: END - 10, isEarlier: false } },
    { when: "it has not for a minute", over: [3, 0, 0, 0, 0, 0, 0, 0], since: undefined },
    {
      when: "it has all the time",
      over: Array.from({ length: 60 }, () => 1),
      since: { seconds: END - 600, isEarlier: true },
    },
  ])("gives the begin when $when", ({ over, since }) => {
    expect(rejectingSince(countsOf(seriesOf(over), RULE)!, END)).toEqual(since);
  });
});

describe("topRules()", () => {
  it("gives those of all fleets with most hits over the limit", () => {
    const fleetOf = (name: string, over: number) => {
      return { name, series: seriesOf([over], `shop.${name}`), pods: 1, observedPods: 1, keys: [] };
    };
    const rows = topRules([fleetOf("a", 1), fleetOf("b", 3), fleetOf("c", 2)], 2);
    expect(rows.map(({ rule }) => rule)).toEqual([
      { fleet: "b", domain: "shop", path: "shop.b" },
      { fleet: "c", domain: "shop", path: "shop.c" },
    ]);
  });
});

describe("keyTables()", () => {
  const keys = create(FleetKeysSchema, {
    keys: {
      rule: { domain: "shop", path: "shop.user" },
      sinceSeconds: 5n,
      rejections: 10n,
      byRejections: [
        { values: [{ key: "user", shown: { case: "text", value: "ada" } }], count: 8n, error: 1n },
        { values: [{ key: "user", shown: { case: "hash", value: new Uint8Array([1, 255]) }, isCut: true }], count: 2n },
        { values: [{ key: "user" }], count: 1n },
      ],
    },
    othersRejectionsMax: 1n,
  });

  it("gives values, shares and errors", () => {
    expect(keyTables(RULE, [keys])).toEqual({
      sinceSeconds: 5,
      byRejections: {
        rows: [
          { values: ["user=ada"], count: 8, error: 1, share: 0.8 },
          { values: ["user=#01ff…"], count: 2, error: 0, share: 0.2 },
          { values: ["user=(not shown)"], count: 1, error: 0, share: 0.1 },
        ],
        othersMax: 1,
      },
      byHits: { rows: [], othersMax: 0 },
    });
  });

  it("gives nothing for another rule", () => {
    expect(keyTables({ ...RULE, path: "shop.other" }, [keys])).toBeUndefined();
  });
});
