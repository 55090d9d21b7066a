// What it costs to send one snapshot to many pods: its resources are serialised once, however many
// streams and fleets there are.
import { beforeEach, describe, expect, it, vi } from "vitest";

import { translateResources } from "../../assemble/translate-resources.ts";
import { stateOfManifests } from "../../assemble/manifests.suite.ts";
import { encodeBody, encodeResource } from "../../snapshot/response-bytes.ts";
import { buildSnapshots, type SnapshotSet } from "../../snapshot/snapshot.ts";
import { FakeAdsStream, FakeSnapshots } from "./fake-ads-stream.suite.ts";

// The real functions; their calls are counted.
vi.mock("../../snapshot/response-bytes.ts", { spy: true });

function build(): SnapshotSet {
  return buildSnapshots(
    translateResources(
      stateOfManifests(
        { name: "a", domain: "alpha" },
        { name: "b", domain: "beta" },
        { name: "g", domain: "gold", fleets: ["gold"] },
      ),
    ),
  );
}

beforeEach(() => {
  vi.clearAllMocks();
});

describe("buildSnapshots()", () => {
  it("serialises each resource once, however many fleets it is for", () => {
    const { others, byFleet } = build();
    expect(vi.mocked(encodeResource)).toHaveBeenCalledTimes(3);
    expect(byFleet.get("gold")?.resources[0]?.bytes).toBe(others.resources[0]?.bytes);
  });

  it("puts nothing together for fleets without pods, and knows the size all the same", () => {
    const { others, byFleet } = build();
    expect(vi.mocked(encodeBody).mock.calls.filter(([, resources]) => resources.length > 0)).toEqual([]);
    expect([others.sizeBytes, byFleet.get("gold")?.sizeBytes]).toEqual([
      others.body.length,
      byFleet.get("gold")?.body.length,
    ]);
  });

  it("serialises only what is new when the rest of a desired configuration is the same as before", () => {
    const { accepted, ...rest } = translateResources(
      stateOfManifests({ name: "a", domain: "alpha" }, { name: "b", domain: "beta" }),
    );
    const before = buildSnapshots({ ...rest, accepted });
    const changed = translateResources(stateOfManifests({ name: "b", domain: "beta", requestsPerUnit: 7 })).accepted;
    vi.clearAllMocks();
    const after = buildSnapshots({ ...rest, accepted: [...accepted.slice(0, 1), ...changed] });
    expect(encodeResource).toHaveBeenCalledTimes(1);
    expect(after.others.resources[0]).toBe(before.others.resources[0]);
    expect(after.others.version).not.toBe(before.others.version);
  });

  it("keeps the snapshot of a fleet for which nothing is new", () => {
    const state = stateOfManifests(
      { name: "g", domain: "gold", fleets: ["gold"] },
      { name: "i", domain: "iron", fleets: ["iron"] },
    );
    const desired = translateResources(state);
    const before = buildSnapshots(desired);
    const changed = translateResources(
      stateOfManifests({ name: "i", domain: "iron", fleets: ["iron"], requestsPerUnit: 7 }),
    ).accepted;
    const after = buildSnapshots({ ...desired, accepted: [...desired.accepted.slice(0, 1), ...changed] }, before);
    expect([after.byFleet.get("gold"), after.others]).toEqual([before.byFleet.get("gold"), before.others]);
    expect(after.byFleet.get("gold")).toBe(before.byFleet.get("gold"));
    expect(after.byFleet.get("iron")?.version).not.toBe(before.byFleet.get("iron")?.version);
  });
});

describe("PodStream", () => {
  it("sends what was serialised before, put together once for a hundred pods", () => {
    const snapshots = new FakeSnapshots();
    snapshots.publish(build().others);
    vi.clearAllMocks();
    const pods = Array.from({ length: 100 }, () => new FakeAdsStream(snapshots));
    for (const pod of pods) pod.request();
    expect(pods.every(({ responses }) => responses.length === 1)).toBe(true);
    expect([vi.mocked(encodeResource).mock.calls.length, vi.mocked(encodeBody).mock.calls.length]).toEqual([0, 1]);
  });
});
