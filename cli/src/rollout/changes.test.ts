// Tests of changes.ts: which lines tell what has changed between two pictures.
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { describe, expect, it } from "vitest";

import { changedLines } from "./changes.ts";
import { mergeRollouts } from "@weir/proto/rollout/merge-rollouts";
import type { MergedRollout } from "@weir/proto/rollout/merged-rollout";
import { CONNECTED_MS, rolloutOf, type RolloutInit } from "./rollout.suite.ts";

/** One replica in this state. */
async function pictureOf(state: RolloutInit, error?: string): Promise<MergedRollout> {
  const transport = createRouterTransport((router) => {
    router.service(RolloutService, { getRollout: () => ({ rollout: state }) });
  });
  const { rollout } = await createClient(RolloutService, transport).getRollout({});
  return mergeRollouts([
    { server: "http://cp", ...(rollout === undefined ? {} : { rollout }), ...(error === undefined ? {} : { error }) },
  ]);
}

/** The lines without their time. */
function lines(before: MergedRollout | undefined, after: MergedRollout): readonly string[] {
  return changedLines(before, after, CONNECTED_MS).map((line) => {
    expect(line.slice(0, 25)).toBe("2026-01-31T12:20:00.000Z ");
    return line.slice(25);
  });
}

/** Pods of the reference service: all have the same node id and no name of their own. */
function unnamed(...pods: readonly object[]): RolloutInit {
  const all = pods.map((pod, index) => ({
    nodeId: "default",
    fleet: "default",
    peer: `192.0.2.${index}:4711`,
    ...pod,
  }));
  return rolloutOf("cp-0", {}, { pods: all });
}

const ACCEPTED = { state: 1, accepted: { version: "0123456789abcdef" } };
const REJECTED = { state: 2, rejected: { version: "0123456789abcdef" }, rejection: "no" };

describe("changedLines()", () => {
  it("reports everything of the first picture", async () => {
    expect(lines(undefined, await pictureOf(rolloutOf("cp-0", { "gateway-1": 1 })))).toEqual([
      "server http://cp answers",
      "fleet * serves 0123456789ab with 1 resource",
      "resource default/shop served",
      "pod default/gateway-1 (default) accepted 0123456789ab",
      "1 resource served and ACKed by the only pod",
    ]);
  });

  it("reports nothing when nothing has changed", async () => {
    const picture = await pictureOf(rolloutOf("cp-0", { "gateway-1": 1 }));
    expect(lines(picture, await pictureOf(rolloutOf("cp-0", { "gateway-1": 1 })))).toEqual([]);
  });

  it("reports what is new, other or gone, with reasons", async () => {
    const before = await pictureOf(rolloutOf("cp-0", { "gateway-1": 1, "gateway-2": 1 }));
    const shop = {
      namespace: "default",
      name: "shop",
      domain: "shop",
      state: 2,
      reason: "InvalidSpec",
      pods: { total: 2 },
    };
    const after = await pictureOf(
      rolloutOf(
        "cp-0",
        { "gateway-1": 2, "gateway-3": 3 },
        { resources: [shop], unreadable: [{ location: "x.yaml:1:1", message: "is empty" }] },
      ),
      "Cannot reach http://cp",
    );
    expect(lines(before, after)).toEqual([
      "server http://cp fails: Cannot reach http://cp",
      "resource default/shop refused InvalidSpec",
      "pod default/gateway-1 (default) rejected 0123456789ab: invalid rate limit unit 'X'",
      "pod default/gateway-3 (default) pending -",
      "unreadable x.yaml:1:1 is empty",
      "pod default/gateway-2 (default) is gone",
      "not complete: Cannot reach http://cp; 1 resource is not served as written; 1 file or object cannot be read; 1 pod has NACKed the active version; 1 pod has not yet ACKed the active version",
    ]);
  });

  it("reports of every one of several pods that have the same name", async () => {
    const both = await pictureOf(unnamed(ACCEPTED, ACCEPTED));
    expect(lines(undefined, both)).toContain("pod default (default) 2 × accepted 0123456789ab");
    const one = await pictureOf(unnamed(REJECTED, ACCEPTED));
    expect(lines(both, one).slice(0, 1)).toEqual([
      "pod default (default) 1 × rejected 0123456789ab: no; 1 × accepted 0123456789ab",
    ]);
    expect(lines(one, await pictureOf(unnamed(ACCEPTED, REJECTED)))).toEqual([]);
    expect(lines(one, await pictureOf(unnamed(REJECTED))).slice(0, 1)).toEqual([
      "pod default (default) rejected 0123456789ab: no",
    ]);
  });
});
