// Tests of top-text.ts and top-view.ts.
import { create } from "@bufbuild/protobuf";
import { RuleInfoSchema, WatchCountsResponseSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import { ReplicaCounts } from "@weir/proto/observe/merged-counts";
import { describe, expect, it } from "vitest";

import type { WatchedReplica } from "./counts-watch.ts";
import { topText } from "./top-text.ts";
import { rulesToAsk, topView } from "./top-view.ts";

/** A step begins here, in seconds since the epoch. */
const START = 1_800_000_000n;

const OPTIONS = { paths: [], limit: 20 };
const USER = { domain: "shop", path: "shop.user" };
const PLAN = { domain: "shop", path: "shop.plan_gold" };

/** A replica whose pods have counted these in the last five minutes. */
function replicaOf(server: string, { hits = 600, over = 40, pods = 2 } = {}): WatchedReplica {
  const counts = new ReplicaCounts();
  const everyStep = (count: number): number[] => Array.from({ length: 30 }, () => count / 30);
  const rules = [
    { rule: PLAN, hits: everyStep(9000) },
    { rule: USER, hits: everyStep(hits), overLimit: [...everyStep(0).slice(1), over], nearLimit: [3] },
  ];
  const latencies = [{ step: 29, buckets: [0, 90, 9, 1] }];
  const totals = { decisions: everyStep(hits), rejections: [...everyStep(0).slice(1), over], latencies };
  const keys = {
    rule: USER,
    sinceSeconds: START,
    rejections: 40n,
    byRejections: [
      { values: [{ key: "user", shown: { case: "text" as const, value: "ad\u001ba" }, isCut: true }], count: 30n },
      {
        values: [{ key: "user", shown: { case: "hash" as const, value: Uint8Array.of(1, 171) } }],
        count: 8n,
        error: 2n,
      },
      { values: [{ key: "user" }], count: 2n },
    ],
  };
  const response = create(WatchCountsResponseSchema, {
    ...{ replica: server, instance: server, replaces: true, observedAt: { seconds: START + 300n } },
    fleets: [
      {
        ...{ fleet: "web", pods, observedPods: 2, endSeconds: START + 300n, keys: [{ keys }] },
        counts: { startSeconds: START, stepSeconds: 10, steps: 30, totals, rules },
      },
      { fleet: "old", pods: 1 },
    ],
  });
  counts.add(response);
  return { server, counts, error: undefined };
}

describe("topText()", () => {
  it("shows fleets, rules and keys", () => {
    const info = { rule: USER, namespace: "web", name: "shop", limit: "5 per minute", earlierLimit: "9 per minute" };
    const known = new Map([["web", [create(RuleInfoSchema, info)]]]);
    const text = topText(topView([replicaOf("cp-0", { pods: 3 })], OPTIONS, known));
    expect(text).toBe(`FLEET   PODS   DECISIONS/S   REJECTIONS/S   ERRORS/S   P50          P99
old     0/1    no data       -              -          -            -
web     2/3    2.0           2.0            0          ≤ 0.088 ms   ≤ 0.13 ms

RULE             FLEET   LIMIT          OVER LIMIT   /S    HITS   /S    NEAR LIMIT   SHADOW   OVER LIMIT, 10 MIN      RESOURCE
shop.user        web     5 per minute   40           2.0   600    2.0   3            0                            █   web/shop
  the limit in the revision before: 9 per minute
shop.plan_gold   web     -              0            0     9000   30    0            0                                -

shop.user in web, since 2027-01-15T08:00:00.000Z
KEY                OVER LIMIT   ERROR   SHARE
user=ad\\u001ba…    30           exact   75%
user=#01ab         8            -2      20%
user=(not shown)   2            exact   5%

last ten minutes of 2 pods on 1 replica; no data of 2 other pods
`);
  });

  it("adds up replicas, and each process once", () => {
    const [one, two] = [replicaOf("cp-0"), replicaOf("cp-1", { hits: 60, over: 5 })];
    const { fleets, rules } = topView([one, two, { ...one, server: "cp-0 again" }], OPTIONS);
    expect(fleets.map(({ name, pods }) => [name, pods])).toEqual([
      ["old", 2],
      ["web", 4],
    ]);
    expect(rules.map(({ path, overLimit, hits }) => [path, overLimit.total, hits.total])).toEqual([
      ["shop.user", 45, 660],
      ["shop.plan_gold", 0, 18_000],
    ]);
    expect(rules[0]?.keys?.byRejections[0]).toMatchObject({ count: 60, share: 0.75 });
  });

  it("shows the rules that are named, and asks for their keys", () => {
    const view = topView([replicaOf("cp-0")], { paths: ["shop.plan_gold"], limit: 20 });
    expect(view.rules.map(({ path }) => path)).toEqual(["shop.plan_gold"]);
    expect(rulesToAsk(view, ["shop.plan_gold"])).toEqual([PLAN]);
  });

  it("ends with what is missing", () => {
    const lost = { server: "cp-1", counts: undefined, error: "Cannot reach cp-1: connection refused" };
    const text = topText(topView([replicaOf("cp-0"), lost], OPTIONS));
    expect(text.trimEnd().split("\n").at(-1)).toBe("not complete: Cannot reach cp-1: connection refused");
  });
});
