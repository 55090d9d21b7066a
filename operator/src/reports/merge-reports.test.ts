// Tests of merge-reports.ts: each pod counts once, and replicas in any order give the same.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { RolloutSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { describe, expect, it } from "vitest";

import { mergeReports, type ReplicaReport } from "./merge-reports.ts";

type RolloutInit = Exclude<MessageInitShape<typeof RolloutSchema>, { $typeName: string }>;

/** A replica with these pods in its one fleet: group 1 accepted, 2 is pending, 3 rejected. */
function replicaOf(name: string, pods: NonNullable<RolloutInit["pods"]>, more: RolloutInit = {}): ReplicaReport {
  const rollout = create(RolloutSchema, {
    replica: name,
    instance: `process of ${name}`,
    pods,
    resources: [
      {
        namespace: "shop",
        name: "mail",
        uid: "u1",
        observedGeneration: 4n,
        fleetStates: [
          {
            name: "*",
            digest: "d1",
            acceptedGroups: [1],
            pendingGroups: [2],
            rejections: [{ group: 3, message: "shop/mail: no" }],
          },
        ],
      },
    ],
    ...more,
  });
  return { name, state: "answers", rollout };
}

function podOf(pod: string, group: number, second: number) {
  return {
    namespace: "web",
    pod,
    nodeId: `edge/${pod}`,
    peer: "10.0.0.1:7",
    group,
    connectedAt: { seconds: BigInt(second) },
  };
}

/** Accepted, pending and rejected pods of each replica. */
function countsOf(reports: readonly ReplicaReport[]): readonly unknown[] {
  return mergeReports(reports)
    .of("shop/mail")
    .replicas.map(({ name, known }) => {
      const [fleet] = known?.fleets ?? [];
      return [name, fleet?.accepted, fleet?.pending, fleet?.rejected.map(({ pod }) => pod)];
    });
}

describe("mergeReports()", () => {
  it.each([
    { fleets: [], counts: { "*": 1, core: 1, edge: 1 } },
    { fleets: ["core", "edge", "gone"], counts: { core: 1, edge: 1 } },
  ])("counts the pods of the fleets $fleets that a report leaves out as accepted", ({ fleets, counts }) => {
    const pods = ["core", "edge", "none"].map((fleet, index) => ({ ...podOf(fleet, index + 1, 1), fleet }));
    const mail = { namespace: "shop", name: "mail", fleets, settledDigest: "d1" };
    const fleetStates = [{ name: "edge", digest: "d1", acceptedGroups: [], pendingGroups: [2] }];
    const [settled, waiting] = [mail, { ...mail, fleetStates }].map((resource) => {
      const names = ["*", "core", "edge"].map((name) => ({ name }));
      const merged = mergeReports([replicaOf("cp-0", pods, { fleets: names, resources: [resource] })]);
      return merged.of("shop/mail").replicas[0]?.known?.fleets;
    });
    const known = Object.entries(counts).map(([name, accepted]) => {
      return { name, digest: "d1", accepted, pending: 0, rejected: [] };
    });
    expect(settled).toEqual(known);
    expect(waiting).toEqual(known.map((each) => (each.name === "edge" ? { ...each, accepted: 0, pending: 1 } : each)));
  });

  it("counts a pod at two replicas once, by its newest stream, in any order", () => {
    const reports = [replicaOf("cp-0", [podOf("a", 1, 10), podOf("b", 1, 10)]), replicaOf("cp-1", [podOf("a", 3, 20)])];
    const expected = [
      ["cp-0", 1, 0, []],
      ["cp-1", 0, 0, ["web/a"]],
    ];
    expect(countsOf(reports)).toEqual(expected);
    expect(countsOf(reports.toReversed())).toEqual(expected);
  });

  it("tells pods of one node id apart by their addresses", () => {
    const nameless = (peer: string, group: number) => ({ nodeId: "edge/x", peer, group, connectedAt: { seconds: 1n } });
    expect(countsOf([replicaOf("cp-0", [nameless("10.0.0.1:7", 1), nameless("10.0.0.2:7", 2)])])).toEqual([
      ["cp-0", 1, 1, []],
    ]);
  });

  it("counts two addresses of one process once", () => {
    const one = replicaOf("cp-0", [podOf("a", 1, 1)]);
    expect(mergeReports([one, { ...one }]).of("shop/mail").replicas).toHaveLength(1);
    expect(mergeReports([{ ...one, state: "silent" }, one]).of("shop/mail")).toMatchObject({ silent: [] });
  });

  it("takes nothing from a silent replica but its name", () => {
    const silent: ReplicaReport = { ...replicaOf("cp-1", [podOf("a", 1, 99)]), state: "silent" };
    const reports = mergeReports([replicaOf("cp-0", [podOf("a", 1, 1)]), silent]).of("shop/mail");
    expect(reports).toMatchObject({ silent: ["cp-1"], replicas: [{ name: "cp-0", known: { generation: 4 } }] });
    expect(reports.replicas[0]?.known?.fleets[0]?.accepted).toBe(1);
  });

  it("shows NACKs as rejections, not as problems", () => {
    const resources = [
      {
        namespace: "shop",
        name: "mail",
        reason: "RejectedByDataPlane",
        problems: [{ message: "pods NACKed it", reason: "RejectedByDataPlane" }],
      },
    ];
    expect(mergeReports([replicaOf("cp-0", [], { resources })]).of("shop/mail").replicas[0]?.known).toMatchObject({
      reason: "",
      problems: [],
    });
  });

  it("knows nothing of an unknown resource", () => {
    const { replicas } = mergeReports([replicaOf("cp-0", [])]).of("shop/none");
    expect(replicas).toEqual([{ name: "cp-0", known: undefined }]);
  });

  describe("in a fleet with known pods", () => {
    /** A ready pod of the Service of fleet `shop.core`. */
    const READY = new Map([
      [
        "shop.core",
        {
          addresses: new Map([["web/a", new Set(["10.0.0.1"])]]),
          ready: new Set(["web/a"]),
          awaited: new Set(["web/a"]),
        },
      ],
    ]);
    const stream = (pod: string, group: number, { second = 1, peer = "10.0.0.1:7", fleet = "shop.core" } = {}) => ({
      ...podOf(pod, group, second),
      fleet,
      peer,
    });
    const countsIn = (reports: readonly ReplicaReport[]) => {
      const merged = mergeReports(reports, READY);
      const { replicas, gaps } = merged.of("shop/mail");
      const [fleet] = replicas[0]?.known?.fleets ?? [];
      return {
        accepted: fleet?.accepted,
        pending: fleet?.pending,
        rejected: fleet?.rejected.length,
        gaps,
        connected: [...(merged.pods?.keys() ?? [])],
      };
    };
    const FINE = { accepted: 1, pending: 0, rejected: 0, connected: ["web/a"] };

    it.each([
      { what: "another pod that NACKs", claims: stream("b", 3) },
      { what: "another pod that never answers", claims: stream("b", 2) },
      { what: "the pod, from another address", claims: stream("a", 3, { second: 9, peer: "10.0.0.2:7" }) },
      { what: "of no name", claims: { ...stream("", 3), pod: "", nodeId: "" } },
    ])("counts no client that claims to be $what", ({ claims }) => {
      const gaps = [{ name: "*", missing: 0, unknown: 1 }];
      expect(countsIn([replicaOf("cp-0", [stream("a", 1), claims])])).toEqual({ ...FINE, gaps });
      expect(countsIn([replicaOf("cp-0", [stream("a", 1)]), replicaOf("cp-1", [claims])])).toEqual({ ...FINE, gaps });
    });

    it.each(["10.0.0.1:7", "[10.0.0.1]:7", "[::ffff:10.0.0.1]:7", "::ffff:10.0.0.1:7"])(
      "counts a pod at %s",
      (peer) => {
        expect(countsIn([replicaOf("cp-0", [stream("a", 1, { peer })])])).toEqual({ ...FINE, gaps: [] });
      },
    );

    it("does not let a client of another fleet take the place of a pod", () => {
      const claims = stream("a", 3, { second: 9, fleet: "edge" });
      const counts = countsIn([replicaOf("cp-0", [claims, stream("a", 1)])]);
      expect(counts).toMatchObject({ accepted: 1, rejected: 1, gaps: [], connected: ["web/a"] });
      expect(mergeReports([replicaOf("cp-0", [claims, stream("a", 1)])], READY).pods?.get("web/a")).toBe("shop.core");
    });

    it("takes no earlier revision for served because of a NACK by a client that does not count", () => {
      const rejections = [{ group: 3, message: "no", activeDigest: "d0" }];
      const fleetStates = [{ name: "*", digest: "d1", acceptedGroups: [1], rejections }];
      const resources = [{ namespace: "shop", name: "mail", servesLastGood: true, fleetStates }];
      const servesLastGood = (pods: Parameters<typeof replicaOf>[1]) =>
        mergeReports([replicaOf("cp-0", pods, { resources })], READY).of("shop/mail").replicas[0]?.known
          ?.servesLastGood;
      expect(servesLastGood([stream("a", 1), stream("b", 3)])).toBe(false);
      expect(servesLastGood([stream("a", 3)])).toBe(true);
    });

    it("lacks a pod without a stream, in the fleet if a resource names it", () => {
      const lacking = { missing: 1, unknown: 0 };
      expect(countsIn([replicaOf("cp-0", [])]).gaps).toEqual([{ name: "*", ...lacking }]);
      const fleetStates = [{ name: "shop.core", digest: "d1" }];
      const named = { fleets: [{ name: "shop.core" }], resources: [{ namespace: "shop", name: "mail", fleetStates }] };
      expect(countsIn([replicaOf("cp-0", [], named)]).gaps).toEqual([{ name: "shop.core", ...lacking }]);
      expect(mergeReports([replicaOf("cp-0", [], named)], READY).of("shop/other").gaps).toEqual([]);
    });

    it("knows that a pod is connected that is not ready, and does not count it", () => {
      const starting = new Map([
        ["shop.core", { ...READY.get("shop.core")!, ready: new Set<string>(), awaited: new Set<string>() }],
      ]);
      const merged = mergeReports([replicaOf("cp-0", [stream("a", 1)])], starting);
      const { replicas, gaps } = merged.of("shop/mail");
      expect([replicas[0]?.known?.fleets[0]?.accepted, gaps, merged.pods?.get("web/a")]).toEqual([0, [], "shop.core"]);
    });

    it("has the connected pods of replicas that answer, while others do not", () => {
      const silent: ReplicaReport = { name: "cp-1", state: "silent", rollout: undefined };
      const merged = mergeReports([replicaOf("cp-0", [stream("a", 1)]), silent], READY);
      expect([merged.isComplete, merged.pods?.get("web/a")]).toEqual([false, "shop.core"]);
      expect(mergeReports([silent], READY).pods).toBeUndefined();
    });

    it("awaits no pod of another control plane", () => {
      const elsewhere = new Map([["shop.core", { ...READY.get("shop.core")!, awaited: new Set<string>() }]]);
      expect(mergeReports([replicaOf("cp-0", [])], elsewhere).of("shop/mail").gaps).toEqual([]);
    });
  });
});
