// Tests of not-watched.ts: what remains of a status when nothing watches the namespace any more.
import { describe, expect, it } from "vitest";

import { CONFIG_STATUS, notWatchedStatus, SERVICE_STATUS } from "./not-watched.ts";

const NOW_MS = Date.parse("2026-11-26T12:00:00.750Z");
const WHY = { reason: "NotWatched", message: "why" } as const;
const EARLIER = "2026-11-20T08:00:00Z";

function condition(type: string, lastTransitionTime = "2026-11-26T12:00:00Z"): object {
  const rest = { observedGeneration: 3, lastTransitionTime };
  return { type, status: "Unknown", reason: "NotWatched", message: "why", ...rest };
}

describe("notWatchedStatus()", () => {
  it("keeps the domain of a RateLimitConfig, and counts no pods", () => {
    const conditions = [{ type: "Ready", status: "True", reason: "Ready", lastTransitionTime: EARLIER }];
    const status = { domain: "shop", pods: { total: 2 }, fleets: [], servesLastGood: false, conditions };
    expect(notWatchedStatus({ content: { status }, generation: 3 }, CONFIG_STATUS, WHY, NOW_MS)).toEqual({
      domain: "shop",
      observedGeneration: 3,
      conditions: [condition("Accepted"), condition("Programmed"), condition("Ready")],
    });
  });

  it("keeps what an autoscaler reads of a RateLimitService", () => {
    const status = { replicas: 2, readyReplicas: 2, connectedPods: 2, selector: "a=b", fleet: "shop.edge" };
    const { conditions, ...rest } = notWatchedStatus(
      { content: { status }, generation: 3 },
      SERVICE_STATUS,
      WHY,
      NOW_MS,
    );
    expect(rest).toEqual({ replicas: 2, selector: "a=b", fleet: "shop.edge", observedGeneration: 3 });
    expect(conditions).toEqual(
      ["Ready", "Available", "Progressing", "Degraded", "Connected"].map((type) => condition(type)),
    );
  });

  it("keeps the time of a condition that was Unknown, and needs no status", () => {
    const status = { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime: EARLIER }] };
    const after = notWatchedStatus({ content: { status }, generation: 3 }, CONFIG_STATUS, WHY, NOW_MS);
    expect(after["conditions"]).toContainEqual(condition("Ready", EARLIER));
    expect(notWatchedStatus({ content: {}, generation: 3 }, CONFIG_STATUS, WHY, NOW_MS)).toMatchObject({
      conditions: [condition("Accepted"), condition("Programmed"), condition("Ready")],
    });
  });
});
