// Tests of observe-hub.ts.
import { create } from "@bufbuild/protobuf";
import type { FleetCounts } from "@weir/proto/generated/weir/console/v1/console_pb";
import { ObservationSchema, RuleKeysSchema, RuleNameSchema } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { CountSeries } from "@weir/proto/observe/count-series";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ObserveHub, type PodObserver, type Wanted } from "./observe-hub.ts";

/** A step begins here, in seconds since the epoch. */
const START = 1_800_000_000;

const EVERYTHING = { fleet: "", keysOf: [] };

describe("ObserveHub", () => {
  let hub: ObserveHub;
  let wanted: Wanted[];
  let nowMs: number;
  let secret: Buffer | undefined;
  let fleets: readonly string[];

  beforeEach(() => {
    vi.useFakeTimers();
    nowMs = START * 1000;
    secret = Buffer.from("a secret of the cluster");
    fleets = ["web"];
    hub = new ObserveHub({ clock: () => nowMs, fleetsOfPods: () => fleets, hashSecret: () => secret });
    wanted = [];
  });

  afterEach(() => {
    hub.stop();
    vi.useRealTimers();
  });

  function pass(ms: number): void {
    nowMs += ms;
    vi.advanceTimersByTime(ms);
  }

  function addPod(fleet = "web"): PodObserver {
    return hub.add({ fleet, topKeys: 32, hasRule: () => true, want: (each) => wanted.push(each) });
  }

  /** Returns a function that adds up what a watcher has received; it reads everything each time. */
  function watch(): () => CountSeries {
    let fleets: readonly FleetCounts[] = [];
    hub.watch(EVERYTHING, (of) => (fleets = of(true)));
    return () => {
      pass(500);
      const series = new CountSeries();
      const counts = fleets[0]?.counts;
      if (counts !== undefined) series.add(counts, nowMs / 1000);
      return series;
    };
  }

  function decisions(count: number, { atSeconds = 0, stepSeconds = 1 } = {}) {
    const startSeconds = BigInt(Math.floor(nowMs / 1000) + atSeconds);
    const totals = { decisions: [count] };
    return create(ObservationSchema, { startSeconds, stepSeconds, steps: 1, totals });
  }

  it("takes the past of a pod when the watch begins, and not that of one that comes later", () => {
    const counts = watch();
    const past = { atSeconds: -60, stepSeconds: 10 };
    addPod().observed(decisions(3, past));
    pass(6000);
    const later = addPod();
    later.observed(decisions(100, past));
    later.observed(decisions(2, { atSeconds: -1 }));
    expect(counts().sum("decisions")).toBe(5);
  });

  it.each([
    { what: "an hour ahead", atSeconds: 3600 },
    { what: "a day behind", atSeconds: -86_400 },
    { what: "right", atSeconds: -1 },
  ])("counts what a pod whose clock is $what reports for now", ({ atSeconds }) => {
    const counts = watch();
    const pod = addPod();
    pod.observed(decisions(3, { atSeconds }));
    pass(20_000);
    pod.observed(decisions(4, { atSeconds }));
    const series = counts();
    expect(series.series("decisions").filter((count) => count > 0)).toEqual([3, 4]);
    expect(Math.abs(series.endSeconds - nowMs / 1000)).toBeLessThan(2);
  });

  it("keeps the counts of a fleet whose only pod connects again, and drops keys that are larger than any", () => {
    const rule = create(RuleNameSchema, { domain: "shop", path: "shop.user" });
    const received: FleetCounts[] = [];
    hub.watch({ fleet: "web", keysOf: [rule] }, (of) => received.splice(0, Infinity, ...of(true)));
    const pod = addPod();
    const keyOf = (value: string) => ({
      values: [{ key: "user", shown: { case: "text" as const, value } }],
      count: 2n,
    });
    const observation = create(ObservationSchema, {
      ...decisions(3, { atSeconds: -1 }),
      keys: [
        create(RuleKeysSchema, { rule, byRejections: [keyOf("ada"), keyOf("x".repeat(65)), keyOf("€".repeat(22))] }),
      ],
    });
    pod.observed(observation);
    pass(500);
    const [fleet] = received;
    expect(fleet?.keys[0]?.keys?.byRejections.map(({ values: [value] }) => value?.shown.value)).toEqual(["ada"]);
    fleets = [];
    pod.left();
    pass(500);
    expect(received.map((each) => [each.fleet, each.pods, each.counts?.totals?.decisions])).toEqual([["web", 0, [3]]]);
  });

  it("has the keys of all observations of a second, and replaces them with those of the next", () => {
    const rules = ["user", "path"].map((key) => create(RuleNameSchema, { domain: "shop", path: `shop.${key}` }));
    let shown: readonly (string | undefined)[] = [];
    hub.watch({ fleet: "web", keysOf: rules }, (of) => {
      shown = of(true).flatMap(({ keys }) => keys.map((each) => each.keys?.rule?.path));
    });
    const pod = addPod();
    const observation = (atSeconds: number, rule?: (typeof rules)[number]) =>
      create(ObservationSchema, {
        ...decisions(1, { atSeconds }),
        keys: rule ? [create(RuleKeysSchema, { rule, rejections: 1n })] : [],
      });
    for (const rule of rules) pod.observed(observation(-1, rule));
    pass(500);
    expect(shown).toEqual(["shop.user", "shop.path"]);
    pod.observed(observation(0, rules[1]));
    pass(500);
    expect(shown).toEqual(["shop.path"]);
  });

  it("forgets everything when the last watcher has left, and wants nothing then", () => {
    const pod = addPod();
    const leave = hub.watch(EVERYTHING, () => undefined);
    pod.observed(decisions(3));
    leave();
    expect([pod.isWatched(), wanted.map(({ totals }) => totals)]).toEqual([false, [false, true, false]]);
    pod.observed(decisions(3));
    expect(watch()().sum("decisions")).toBe(0);
  });

  it("gives the pods of each fleet a key of their own, the same each time", () => {
    for (const fleet of ["web", "other", "web"]) addPod(fleet);
    const [web, other, again] = wanted.map(({ hashKey }) => Buffer.from(hashKey ?? []).toString("hex"));
    expect([web?.length, again === web, other === web]).toEqual([64, true, false]);
  });

  it("sends pods another key when the secret is another one, and none without it", () => {
    addPod();
    for (const next of [Buffer.from("another secret"), undefined]) {
      secret = next;
      hub.secretChanged();
    }
    const keys = wanted.map(({ hashKey }) => hashKey && Buffer.from(hashKey).toString("hex"));
    expect([new Set(keys).size, keys.at(-1)]).toEqual([3, undefined]);
  });

  it("asks for the keys of at most 32 rules", () => {
    addPod();
    const rulesOf = (domain: string) =>
      Array.from({ length: 20 }, (_, index) => ({ domain, path: `${domain}.${index}` }) as never);
    hub.watch({ fleet: "", keysOf: rulesOf("a") }, () => undefined);
    hub.watch({ fleet: "web", keysOf: rulesOf("b") }, () => undefined);
    expect(wanted.map(({ keysOf }) => keysOf.length)).toEqual([0, 20, 32]);
  });
});
