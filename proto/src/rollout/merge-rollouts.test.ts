// Tests of merge-rollouts.ts: which answers count, and which of several is shown.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";

import { type ResourceSchema, RolloutSchema } from "../generated/weir/rollout/v1/rollout_pb.ts";
import { mergeRollouts } from "./merge-rollouts.ts";
import type { ReplicaAnswer } from "./merged-rollout.ts";

type RolloutInit = Exclude<MessageInitShape<typeof RolloutSchema>, { $typeName: string }>;

/** A replica with one pod of this state, without problems of its own. */
function rolloutOf(replica: string, pod: string, state: 1 | 2, more: RolloutInit = {}): RolloutInit {
  return { replica, ready: true, pods: [{ pod, fleet: "default", state }], ...more };
}

/** The answers of replicas in these states. */
function answersOf(...states: readonly RolloutInit[]): readonly ReplicaAnswer[] {
  return states.map((state, index) => ({ server: `http://cp${index}`, rollout: create(RolloutSchema, state) }));
}

describe("mergeRollouts()", () => {
  it("counts replicas of one name as two when they are two processes", () => {
    const [one, two] = [rolloutOf("node", "a", 1, { instance: "1" }), rolloutOf("node", "b", 2, { instance: "2" })];
    const { pods, problems } = mergeRollouts(answersOf(one, two));
    expect([pods.map(({ pod }) => pod.pod), problems]).toEqual([["a", "b"], ["1 pod has NACKed the active version"]]);
  });

  it.each([
    { what: "of one process", more: { instance: "1" } },
    { what: "of one name without an instance", more: {} },
  ])("counts answers $what as one", ({ more }) => {
    const { replicas, pods } = mergeRollouts(answersOf(rolloutOf("cp", "a", 1, more), rolloutOf("cp", "a", 1, more)));
    expect([replicas.length, pods.length]).toEqual([1, 1]);
  });

  it.each<{
    what: string;
    worse: MessageInitShape<typeof ResourceSchema>;
    better: MessageInitShape<typeof ResourceSchema>;
  }>([
    { what: "a refused resource", worse: { state: 2 }, better: { state: 1, reason: "DuplicateResource" } },
    {
      what: "an earlier revision",
      worse: { state: 1, servesLastGood: true },
      better: { state: 1, reason: "DuplicateResource" },
    },
    { what: "a reason", worse: { state: 1, reason: "DuplicateResource", generation: 7n }, better: { state: 1 } },
    { what: "the lower generation", worse: { state: 1, generation: 6n }, better: { state: 1, generation: 7n } },
  ])("shows $what, whichever replica answers first", ({ worse, better }) => {
    const replicas = [worse, better].map((resource, index) =>
      rolloutOf(`cp-${index}`, "a", 1, { resources: [{ namespace: "web", name: "shop", ...resource }] }),
    );
    const answers = answersOf(...replicas);
    for (const order of [answers, answers.toReversed()])
      expect(mergeRollouts(order).resources).toMatchObject([{ resource: worse }]);
  });

  it("drops a warning about a fleet whose pods are connected to another replica", () => {
    const warned = (where: string): NonNullable<RolloutInit["resources"]> => [
      { namespace: "web", name: "shop", fleets: ["edge", "cor"], warnings: ["spec.x: ignored", ...warnings(where)] },
    ];
    const warnings = (where: string): string[] =>
      ["edge", "cor"].map((fleet) => `no pod of fleet ${fleet} is connected to this replica (${where})`);
    const core = rolloutOf("cp-0", "a", 1, { resources: warned("fleets with pods: core") });
    const edge = rolloutOf("cp-1", "b", 1, {
      resources: [{ namespace: "web", name: "shop", fleets: ["edge", "cor"], warnings: [] }],
      pods: [{ pod: "b", fleet: "edge", state: 1 }],
    });
    const answers = answersOf(core, edge);
    for (const order of [answers, answers.toReversed()])
      expect(mergeRollouts(order).resources[0]?.resource.warnings).toContain(
        "no pod of fleet cor is connected (fleets with pods: default, edge)",
      );
    expect(mergeRollouts(answers).resources[0]?.resource.warnings).toEqual([
      "spec.x: ignored",
      "no pod of fleet cor is connected (fleets with pods: default, edge)",
    ]);
    // Narrowed to one fleet, the answers have no pods of the others: nothing is known of them.
    const narrow = { namespace: "", name: "", generation: 0, fleet: "edge" };
    const onlyEdge = answersOf({ ...core, pods: [] }, edge);
    expect(mergeRollouts(onlyEdge, narrow).resources[0]?.resource.warnings).toEqual(["spec.x: ignored"]);
  });
});

describe("mergeRollouts() with a resource that needs pods", () => {
  const shop = { namespace: "web", name: "shop", state: 1 } as const;
  const wanted = { namespace: "web", name: "shop", generation: 0, needsPods: true };
  const pods = (...fleets: readonly string[]): NonNullable<RolloutInit["pods"]> =>
    fleets.map((fleet, index) => ({ pod: `pod-${index}`, fleet, state: 1 }));

  it.each<{ when: string; fleets: string[]; pods: string[]; fleet?: string; problems: string[] }>([
    {
      when: "a fleet has no pod",
      fleets: ["cor", "edge"],
      pods: ["edge", "core", "edge"],
      problems: ["no pod of fleet cor is connected (fleets with pods: core, edge)"],
    },
    { when: "each fleet has a pod", fleets: ["core", "edge"], pods: ["edge", "core"], problems: [] },
    {
      when: "no pod is connected",
      fleets: ["cor"],
      pods: [],
      problems: ["no pod of fleet cor is connected (no pod is connected at all)"],
    },
    { when: "it is for every fleet and there is a pod", fleets: [], pods: ["any"], problems: [] },
    { when: "it is for every fleet and there is none", fleets: [], pods: [], problems: ["no pod is connected"] },
    { when: "another fleet is asked for", fleets: ["cor", "edge"], pods: ["edge"], fleet: "edge", problems: [] },
    {
      when: "the fleet that is asked for has no pod",
      fleets: ["cor", "edge"],
      pods: [],
      fleet: "cor",
      problems: ["no pod of fleet cor is connected"],
    },
    {
      when: "many fleets have pods",
      fleets: ["cor"],
      pods: Array.from({ length: 22 }, (_, index) => `fleet-${String(index).padStart(2, "0")}`),
      problems: [
        "no pod of fleet cor is connected (fleets with pods: fleet-00, fleet-01, fleet-02, fleet-03, fleet-04, fleet-05, fleet-06, fleet-07, fleet-08, fleet-09, fleet-10, fleet-11, fleet-12, fleet-13, fleet-14, fleet-15, fleet-16, fleet-17, fleet-18, fleet-19 and 2 more)",
      ],
    },
  ])("has the problems $problems when $when", ({ fleets, pods: podFleets, fleet = "", problems }) => {
    const rollout = { replica: "cp-0", ready: true, resources: [{ ...shop, fleets }], pods: pods(...podFleets) };
    expect(mergeRollouts(answersOf(rollout), { ...wanted, fleet }).problems).toEqual(problems);
    expect(mergeRollouts(answersOf(rollout), { ...wanted, fleet, needsPods: false }).problems).toEqual([]);
  });

  it("takes pods of any replica", () => {
    const states = ["edge", "core"].map((fleet, index) => ({
      replica: `cp-${index}`,
      ready: true,
      resources: [{ ...shop, fleets: ["core", "edge"] }],
      pods: pods(fleet),
    }));
    expect(mergeRollouts(answersOf(...states), wanted).problems).toEqual([]);
  });
});

describe("mergeRollouts() with one problem of several replicas", () => {
  it("has it once, with their names", () => {
    const state = (replica: string): RolloutInit => ({ replica, source: { location: "/limits", error: "EACCES" } });
    const wanted = { namespace: "web", name: "shop", generation: 0 };
    expect(mergeRollouts(answersOf(state("cp-0"), state("cp-1"), state("cp-2")), wanted).problems).toEqual([
      "the replicas cp-0, cp-1 and cp-2 serve nothing yet",
      "the replicas cp-0, cp-1 and cp-2 cannot read /limits: EACCES",
      "the replicas cp-0, cp-1 and cp-2 know no resource web/shop",
    ]);
  });

  it("names the servers that did not answer for the same reason", () => {
    const refused = (server: string, address: string): ReplicaAnswer => ({
      server,
      error: `Cannot reach ${server}: connection refused (connect ECONNREFUSED ${address})`,
    });
    const answers = [
      refused("http://cp:8090 (10.0.0.1)", "10.0.0.1:8090"),
      { server: "http://x:1", error: "http://x:1 does not permit this user" },
      refused("http://cp:8090 (10.0.0.2)", "10.0.0.2:8090"),
      refused("http://[::1]:8090", "::1:8090"),
    ];
    expect(mergeRollouts(answers).problems).toEqual([
      "Cannot reach http://cp:8090 (10.0.0.1): connection refused (connect ECONNREFUSED 10.0.0.1:8090); the same: http://cp:8090 (10.0.0.2), http://[::1]:8090",
      "http://x:1 does not permit this user",
    ]);
  });
});
