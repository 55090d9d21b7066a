// Tests of merge.ts: which answers count, and which of several is shown.
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { describe, expect, it } from "vitest";

import { mergeRollouts, type ReplicaAnswer } from "./merge.ts";
import { rolloutOf, type RolloutInit } from "./rollout.suite.ts";

/** The answers of replicas in these states. */
async function answersOf(...states: readonly RolloutInit[]): Promise<readonly ReplicaAnswer[]> {
  let index = 0;
  const transport = createRouterTransport((router) => {
    router.service(RolloutService, { getRollout: () => ({ rollout: states[index] ?? {} }) });
  });
  const answers: ReplicaAnswer[] = [];
  for (; index < states.length; index += 1) {
    const { rollout } = await createClient(RolloutService, transport).getRollout({});
    if (rollout !== undefined) answers.push({ server: `http://cp${index}`, rollout });
  }
  return answers;
}

describe("mergeRollouts()", () => {
  it("takes replicas of one name for two when they are two processes", async () => {
    const [one, two] = [rolloutOf("node", { a: 1 }, { instance: "1" }), rolloutOf("node", { b: 2 }, { instance: "2" })];
    const { pods, problems } = mergeRollouts(await answersOf(one, two));
    expect([pods.map(({ pod }) => pod.pod), problems]).toEqual([
      ["a", "b"],
      ["1 pod has rejected the version in force"],
    ]);
  });

  it.each([
    { what: "of one process", more: { instance: "1" } },
    { what: "of one name when they tell no process", more: {} },
  ])("takes answers $what for one", async ({ more }) => {
    const { replicas, pods } = mergeRollouts(
      await answersOf(rolloutOf("cp", { a: 1 }, more), rolloutOf("cp", { a: 1 }, more)),
    );
    expect([replicas.length, pods.length]).toEqual([1, 1]);
  });

  it.each([
    { what: "a refused resource", worse: { state: 2 }, better: { state: 1, reason: "DuplicateResource" } },
    {
      what: "an earlier form",
      worse: { state: 1, servesLastGood: true },
      better: { state: 1, reason: "DuplicateResource" },
    },
    { what: "a reason", worse: { state: 1, reason: "DuplicateResource", generation: 7n }, better: { state: 1 } },
    { what: "the lower generation", worse: { state: 1, generation: 6n }, better: { state: 1, generation: 7n } },
  ])("shows $what, whichever replica answers first", async ({ worse, better }) => {
    const replicas = [worse, better].map((resource, index) =>
      rolloutOf(`cp-${index}`, {}, { resources: [{ namespace: "web", name: "shop", ...resource }] }),
    );
    const answers = await answersOf(...replicas);
    for (const order of [answers, answers.toReversed()])
      expect(mergeRollouts(order).resources).toMatchObject([{ resource: worse }]);
  });
});
