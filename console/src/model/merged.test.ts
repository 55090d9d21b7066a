import { create } from "@bufbuild/protobuf";
import { WatchCountsResponseSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import { ReplicaCounts } from "@weir/proto/observe/merged-counts";
import { describe, expect, it } from "vitest";

import { merge } from "./merged.ts";

/** A replica that has sent the counts of so many decisions. */
function replica(name: string, decisions: number, error?: string) {
  const counts = new ReplicaCounts();
  counts.add(
    create(WatchCountsResponseSchema, {
      replica: name,
      instance: name,
      observedAt: { seconds: 1000n },
      replaces: true,
      fleets: [
        {
          fleet: "web",
          pods: 2,
          observedPods: 1,
          counts: { startSeconds: 990n, stepSeconds: 1, steps: 1, totals: { decisions: [decisions] } },
        },
      ],
    }),
  );
  return { name, counts, rollout: undefined, error };
}

function decisionsOf(merged: ReturnType<typeof merge>): readonly number[] {
  return merged.fleets.map(({ series }) => series.sum("decisions"));
}

describe("merge()", () => {
  it("adds up replicas", () => {
    const merged = merge({ replicas: [replica("one", 3), replica("two", 4)], error: undefined });
    expect([decisionsOf(merged), merged.fleets[0]?.pods, merged.notices]).toEqual([[7], 4, []]);
  });

  it("leaves out a silent replica, whose pods connect to the others, and says so", () => {
    const merged = merge({ replicas: [replica("one", 3, "it does not answer"), replica("two", 4)], error: undefined });
    expect(decisionsOf(merged)).toEqual([4]);
    expect(merged.notices).toEqual(["No news from one: it does not answer. Connecting again."]);
  });

  it("keeps what the only replica has sent", () => {
    const merged = merge({ replicas: [replica("one", 3, "it does not answer")], error: "The server has ended." });
    expect(decisionsOf(merged)).toEqual([3]);
    expect(merged.notices).toEqual([
      "The server has ended.",
      "No news from one: it does not answer. Connecting again.",
    ]);
  });

  it("waits for the first answer", () => {
    const silent = { name: "", counts: undefined, rollout: undefined, error: undefined };
    const { hasBegun, notices } = merge({ replicas: [silent], error: undefined });
    expect([hasBegun, notices]).toEqual([false, ["Waiting for the first answer."]]);
  });
});
