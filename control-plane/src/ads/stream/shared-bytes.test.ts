// Tests of the cost of sending one snapshot to many pods: its resources are serialised once, and put
// together once, however many streams and fleets there are.
import { beforeEach, describe, expect, it, vi } from "vitest";

import { type ManifestText, stateOfManifests, translateResources } from "../../translate/manifests.suite.ts";
import { encodeResource } from "../../snapshot/response-bytes.ts";
import type { SnapshotSet } from "../../snapshot/snapshot.ts";
import { snapshotsOf } from "../../snapshot/snapshots-of.suite.ts";
import { FakeAdsStream, FakePublisher } from "./fake-ads-stream.suite.ts";

// The real functions; their calls are counted.
vi.mock("../../snapshot/response-bytes.ts", { spy: true });

const A: ManifestText = { name: "a", domain: "alpha" };
const B: ManifestText = { name: "b", domain: "beta" };

function build(): SnapshotSet {
  const state = stateOfManifests(A, B, { name: "g", domain: "gold", fleets: ["gold"] });
  return snapshotsOf(translateResources(state));
}

/** How often buffers are put together that hold something. */
function concatenations(run: () => void): number {
  const concat = vi.spyOn(Buffer, "concat");
  try {
    run();
    return concat.mock.calls.filter(([pieces]) => pieces.length > 1).length;
  } finally {
    concat.mockRestore();
  }
}

beforeEach(() => {
  vi.clearAllMocks();
});

describe("snapshotSteps()", () => {
  it("serialises each resource once, however many fleets it is for", () => {
    const { others, byFleet } = build();
    expect(vi.mocked(encodeResource)).toHaveBeenCalledTimes(3);
    expect(byFleet.get("gold")?.revisions[0]).toBe(others.revisions[0]);
  });

  it("puts nothing together for fleets without pods, and knows the size all the same", () => {
    let sets: SnapshotSet | undefined;
    expect(concatenations(() => (sets = build()))).toBe(0);
    const bytesOf = (pieces: readonly Buffer[] = []): number => Buffer.concat(pieces).length;
    expect([sets?.others.sizeBytes, sets?.byFleet.get("gold")?.sizeBytes]).toEqual([
      bytesOf(sets?.others.pieces()),
      bytesOf(sets?.byFleet.get("gold")?.pieces()),
    ]);
  });

  it("serialises only what is new when the rest of a desired configuration is the same as before", () => {
    const { accepted, ...rest } = translateResources(stateOfManifests(A, B));
    const before = snapshotsOf({ ...rest, accepted });
    const changed = translateResources(stateOfManifests({ ...B, requestsPerUnit: 7 })).accepted;
    vi.clearAllMocks();
    const after = snapshotsOf({ ...rest, accepted: [...accepted.slice(0, 1), ...changed] });
    expect(encodeResource).toHaveBeenCalledTimes(1);
    expect(after.others.revisions[0]).toBe(before.others.revisions[0]);
    expect(after.others.version).not.toBe(before.others.version);
  });

  it("keeps the snapshot of a fleet for which nothing is new", () => {
    const state = stateOfManifests(
      { name: "g", domain: "gold", fleets: ["gold"] },
      { name: "i", domain: "iron", fleets: ["iron"] },
    );
    const desired = translateResources(state);
    const before = snapshotsOf(desired);
    const changed = translateResources(
      stateOfManifests({ name: "i", domain: "iron", fleets: ["iron"], requestsPerUnit: 7 }),
    ).accepted;
    const after = snapshotsOf({ ...desired, accepted: [...desired.accepted.slice(0, 1), ...changed] }, before);
    expect(after.byFleet.get("gold")).toBe(before.byFleet.get("gold"));
    expect(after.others).toBe(before.others);
    expect(after.byFleet.get("iron")?.version).not.toBe(before.byFleet.get("iron")?.version);
  });
});

describe("PodStream", () => {
  it("sends what was serialised before, put together once for a hundred pods", () => {
    const publisher = new FakePublisher(build().others);
    vi.clearAllMocks();
    const sent = new Set<Buffer | undefined>();
    const pods = Array.from({ length: 100 }, () => new FakeAdsStream(publisher));
    for (const pod of pods) {
      const send = pod.send.bind(pod);
      pod.send = (pieces, written) => {
        sent.add(pieces[1]);
        send(pieces, written);
      };
      pod.request();
    }
    expect(pods.every(({ responses }) => responses.length === 1)).toBe(true);
    expect([vi.mocked(encodeResource).mock.calls.length, sent.size]).toEqual([0, 1]);
  });

  it("sends pods that NACKed one resource the bytes of all others from the same buffer", () => {
    const [before, after] = [1, 2].map((requestsPerUnit) =>
      snapshotsOf(
        translateResources(
          stateOfManifests(A, { ...B, requestsPerUnit }, { name: "c", domain: "gamma", requestsPerUnit }),
        ),
      ),
    ) as [SnapshotSet, SnapshotSet];
    const publisher = new FakePublisher(before.others, after.others);
    vi.clearAllMocks();
    const buffers = new Set<ArrayBufferLike | undefined>();
    for (let count = 0; count < 10; count += 1) {
      const pod = new FakeAdsStream(publisher);
      const send = pod.send.bind(pod);
      pod.send = (pieces, written) => {
        buffers.add(pieces[1]?.buffer);
        send(pieces, written);
      };
      pod.request();
      pod.reject("default/b: no");
      expect(pod.responses).toHaveLength(2);
    }
    expect([vi.mocked(encodeResource).mock.calls.length, buffers.size]).toEqual([0, 1]);
  });
});
