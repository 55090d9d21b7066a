// Tests of count-series.ts.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";

import { ObservationSchema } from "../generated/weir/observe/v1/observe_pb.ts";
import { CountSeries } from "./count-series.ts";

/** A step begins here, in seconds since the epoch. */
const START = 1_800_000_000;
const USER = { domain: "shop", path: "shop.user" };
const PLAN = { domain: "shop", path: "shop.plan_gold" };

type ObservationInit = Omit<MessageInitShape<typeof ObservationSchema>, "startSeconds" | "$typeName">;

function seriesOf(...observations: readonly (readonly [at: number, ObservationInit])[]): CountSeries {
  const series = new CountSeries();
  for (const [at, content] of observations) {
    const init = { stepSeconds: 1, steps: 1, ...content, startSeconds: BigInt(START + at) };
    series.add(create(ObservationSchema, init), START + at + 1);
  }
  return series;
}

describe("CountSeries", () => {
  it("adds the seconds of pods to steps of ten seconds", () => {
    const series = seriesOf(
      [0, { totals: { decisions: [7], rejections: [1], errors: [0] } }],
      [9, { totals: { decisions: [3] } }],
      [9, { totals: { decisions: [100], errors: [2] } }],
      [10, { totals: { decisions: [5] } }],
    );
    expect(series.series("decisions").slice(-3)).toEqual([0, 110, 5]);
    expect([series.sum("decisions"), series.sum("rejections"), series.sum("errors")]).toEqual([115, 1, 2]);
    expect(series.endSeconds).toBe(START + 11);
  });

  it("gives rates over the last step and what has passed of this one", () => {
    // 100 in the ten seconds before, 44 in the two seconds since.
    const series = seriesOf(
      [0, { stepSeconds: 10, totals: { decisions: [100] } }],
      [10, { steps: 2, totals: { decisions: [4, 40] } }],
    );
    expect(series.rate("decisions")).toBe(12);
  });

  it("takes the past of a pod, which lacks numbers where they are 0", () => {
    const past = { stepSeconds: 10, steps: 61, rules: [{ rule: USER, hits: [1, 0, 3], overLimit: [0, 0, 2] }] };
    const series = new CountSeries();
    series.add(create(ObservationSchema, { ...past, startSeconds: BigInt(START) }), START + 605);
    const [rule] = series.rules();
    expect(rule?.series("hits").slice(0, 4)).toEqual([1, 0, 3, 0]);
    expect([rule?.sum("hits"), rule?.sum("overLimit"), rule?.sum("nearLimit")]).toEqual([4, 2, 0]);
  });

  it("forgets steps after ten minutes, and rules with them", () => {
    const series = seriesOf(
      [0, { rules: [{ rule: USER, hits: [1] }] }],
      [605, { totals: { decisions: [1] } }],
      [610, { rules: [{ rule: PLAN, hits: [2] }] }],
    );
    expect(series.rules().map(({ rule }) => rule.path)).toEqual(["shop.plan_gold"]);
    expect(series.observation()?.rules.map(({ rule }) => rule?.path)).toEqual(["shop.plan_gold"]);
  });

  it.each([
    { what: "too old", at: -700 },
    { what: "in the future", at: 60 },
  ])("does not count steps that are $what", ({ at }) => {
    const series = new CountSeries();
    const observation = { startSeconds: BigInt(START + at), stepSeconds: 1, steps: 1, totals: { decisions: [9] } };
    series.add(create(ObservationSchema, observation), START);
    expect(series.sum("decisions")).toBe(0);
  });

  it("lists rules with most rejections first, then those with most hits", () => {
    const rules = [
      { rule: { domain: "a", path: "a.idle" }, hits: [5] },
      { rule: { domain: "a", path: "a.busy" }, hits: [500] },
      { rule: { domain: "a", path: "a.over" }, hits: [10], overLimit: [1] },
    ];
    expect(
      seriesOf([0, { rules }])
        .rules()
        .map(({ rule }) => rule.path),
    ).toEqual(["a.over", "a.busy", "a.idle"]);
  });

  it("gives response times as the bound of their bucket", () => {
    // 98 calls up to 1/16 ms, one up to 1/4 ms, one longer than all buckets.
    const buckets = [98, 0, 0, 0, 1, ...Array.from({ length: 26 }, () => 0), 1];
    const series = seriesOf([0, { totals: { latencies: [{ step: 0, buckets }] } }]);
    expect([series.latencyMs(0.5), series.latencyMs(0.99), series.latencyMs(1)]).toEqual([0.0625, 0.25, 2 ** 11.5]);
    expect(new CountSeries().latencyMs(0.5)).toBeUndefined();
  });

  it("is the same after a way as one observation", () => {
    const series = seriesOf(
      [0, { totals: { decisions: [7], rejections: [1], latencies: [{ step: 0, buckets: [3, 4] }] } }],
      [25, { rules: [{ rule: USER, hits: [9], overLimit: [4], nearLimit: [1], shadowMode: [3] }] }],
    );
    const sent = series.observation();
    expect(sent).toMatchObject({ startSeconds: BigInt(START), stepSeconds: 10, steps: 3 });
    const copy = new CountSeries();
    if (sent !== undefined) copy.add(sent, START + 26);
    expect(copy.observation()).toEqual(sent);
  });

  it("gives each count once when it is taken, and forgets rules that no longer count", () => {
    const series = seriesOf([
      0,
      {
        totals: { decisions: [7] },
        rules: [
          { rule: USER, hits: [9] },
          { rule: PLAN, hits: [1] },
        ],
      },
    ]);
    expect(series.take()).toMatchObject({ totals: { decisions: [7] }, rules: [{ hits: [9] }, { hits: [1] }] });
    expect(series.take()).toBeUndefined();
    const init = { startSeconds: BigInt(START + 5), stepSeconds: 1, steps: 1, rules: [{ rule: USER, hits: [2] }] };
    for (let time = 0; time < 2; time++) {
      series.add(create(ObservationSchema, init), START + 6);
      expect(series.take()?.rules).toMatchObject([{ rule: USER, hits: [2] }]);
    }
  });

  it("takes a thousand rules and no more", () => {
    const rules = Array.from({ length: 1200 }, (_, index) => ({
      rule: { domain: "a", path: `a.${index}` },
      hits: [1],
    }));
    expect(seriesOf([0, { rules }]).rules()).toHaveLength(1000);
  });
});
