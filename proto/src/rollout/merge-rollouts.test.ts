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
      what: "an earlier form",
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
});
