import type { RateLimitServiceStatus } from "@weir/crds/rate-limit-service/schema/schema";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { describe, expect, it } from "vitest";

import { type StatusFacts, workloadStatus } from "./workload-status.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

function objectOf(content: object, name = "limits"): KubernetesObject {
  return { name, namespace: "shop", uid: name, resourceVersion: "1", generation: 2, content: { ...content } };
}

/** A Deployment that wants two pods. */
function deployment(counts: object, conditions: readonly object[] = [{ type: "Available", status: "True" }]) {
  return objectOf({ spec: { replicas: 2 }, status: { observedGeneration: 2, ...counts, conditions } });
}

const DONE = { replicas: 2, readyReplicas: 2, updatedReplicas: 2, availableReplicas: 2 };
const HALF = { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 };
const AVAILABLE = { type: "Available", status: "True" };
const STUCK = [
  AVAILABLE,
  { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded", message: "too late" },
];

const HEALTHY: StatusFacts = {
  generation: 4,
  fleet: "shop.limits",
  selector: "a=b",
  deployment: deployment(DONE),
  pods: [],
  readyPods: ["p1", "p2"],
  connected: new Set(["p1", "p2", "p3"]),
  secrets: undefined,
  foreignCertificate: undefined,
  store: undefined,
  problem: undefined,
};

/** A pod without an image. */
const IMAGELESS = objectOf(
  { status: { containerStatuses: [{ state: { waiting: { reason: "ErrImagePull", message: "none" } } }] } },
  "p9",
);

/** A Deployment of which another number of pods than two is as the resource says. */
function paused(updatedReplicas: number): KubernetesObject {
  const status = { ...DONE, updatedReplicas, observedGeneration: 2, conditions: [AVAILABLE] };
  return objectOf({ spec: { replicas: 2, paused: true }, status });
}

/** The API server refuses pods. */
const FULL = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota" };

function degradedIn({ conditions = [] }: RateLimitServiceStatus) {
  return conditions.find(({ type }) => type === "Degraded");
}

function conditionsOf({ conditions = [] }: RateLimitServiceStatus): Readonly<Record<string, string>> {
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

describe("workloadStatus()", () => {
  it("says that all is well", () => {
    expect(workloadStatus(HEALTHY, undefined, NOW_MS)).toMatchObject({
      observedGeneration: 4,
      replicas: 2,
      readyReplicas: 2,
      connectedPods: 2,
      selector: "a=b",
      fleet: "shop.limits",
    });
    expect(conditionsOf(workloadStatus(HEALTHY, undefined, NOW_MS))).toEqual({
      Ready: "True Ready",
      Available: "True PodsReady",
      Progressing: "False RolledOut",
      Degraded: "False AsExpected",
      Connected: "True PodsConnected",
    });
  });

  it.each([
    {
      what: "a rollout",
      facts: { deployment: deployment(HALF) },
      found: { Ready: "False RollingOut", Available: "True PodsReady", Progressing: "True RollingOut" },
    },
    {
      what: "an edit of which the controller of Deployments does not know",
      facts: { deployment: deployment({ ...DONE, observedGeneration: 1 }) },
      found: { Ready: "False RollingOut", Available: "True PodsReady", Progressing: "True RollingOut" },
    },
    {
      what: "pods of an earlier revision that are not ended",
      facts: { deployment: deployment({ ...DONE, replicas: 3 }) },
      found: { Ready: "False RollingOut", Progressing: "True RollingOut" },
    },
    {
      what: "a rollout that is paused",
      facts: { deployment: paused(0) },
      found: { Ready: "False RolloutPaused", Available: "True PodsReady", Degraded: "True RolloutPaused" },
    },
    {
      what: "a Deployment that is paused after its rollout",
      facts: { deployment: paused(2) },
      found: { Ready: "True Ready", Degraded: "False AsExpected" },
    },
    {
      what: "a pod that cannot start, with pods that serve",
      facts: { deployment: deployment(HALF), pods: [IMAGELESS] },
      found: { Ready: "False RolloutStuck", Available: "True PodsReady", Degraded: "True RolloutStuck" },
    },
    {
      what: "too few pods",
      facts: { deployment: deployment({ replicas: 2 }, [{ type: "Available", status: "False" }]), readyPods: [] },
      found: { Ready: "False PodsNotReady", Available: "False PodsNotReady", Connected: "False NoReadyPods" },
    },
    {
      what: "a rollout that is stuck",
      facts: { deployment: deployment(HALF, STUCK) },
      found: { Ready: "False RolloutStuck", Available: "True PodsReady", Degraded: "True RolloutStuck" },
    },
    {
      what: "a pod that is not connected",
      facts: { connected: new Set(["p1"]) },
      found: { Ready: "False PodsNotConnected", Connected: "False PodsNotConnected" },
    },
    {
      what: "no control plane that answers",
      facts: { connected: undefined },
      found: { Ready: "Unknown ControlPlaneSilent", Connected: "Unknown ControlPlaneSilent" },
    },
    {
      what: "a problem before there is a Deployment",
      facts: {
        deployment: undefined,
        readyPods: [],
        problem: { reason: "FleetConflict", message: "taken" },
      },
      found: {
        Ready: "False FleetConflict",
        Available: "False FleetConflict",
        Progressing: "False FleetConflict",
        Degraded: "True FleetConflict",
      },
    },
    {
      what: "a problem with pods that serve",
      facts: { problem: { reason: "InvalidSpec", message: "wrong" } },
      found: { Ready: "False InvalidSpec", Available: "True PodsReady", Degraded: "True InvalidSpec" },
    },
  ] satisfies { what: string; facts: Partial<StatusFacts>; found: object }[])("says $what", ({ facts, found }) => {
    expect(conditionsOf(workloadStatus({ ...HEALTHY, ...facts }, undefined, NOW_MS))).toMatchObject(found);
  });

  it.each([
    { what: "pods that are refused", conditions: [AVAILABLE, FULL], pods: [IMAGELESS], message: "exceeded quota" },
    { what: "a pod", conditions: STUCK, pods: [IMAGELESS], message: "pod p9: ErrImagePull: none" },
    { what: "nothing but time", conditions: STUCK, pods: [], message: "too late" },
  ])("says what a rollout is stuck at: $what", ({ conditions, pods, message }) => {
    const facts = { ...HEALTHY, deployment: deployment(HALF, conditions), pods };
    expect(degradedIn(workloadStatus(facts, undefined, NOW_MS))?.message).toBe(message);
  });

  it("names a slow start only when the deadline of the rollout is over", () => {
    const status = { containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }] };
    const facts = { ...HEALTHY, pods: [objectOf({ status }, "p9")] };
    const found = (conditions: readonly object[]) =>
      degradedIn(workloadStatus({ ...facts, deployment: deployment(HALF, conditions) }, undefined, NOW_MS));
    expect(found([AVAILABLE])?.status).toBe("False");
    expect(found(STUCK)?.message).toBe("pod p9: ContainerCreating: perhaps its image is being pulled");
  });

  it("keeps the time of a condition that stays", () => {
    const before = workloadStatus(HEALTHY, undefined, NOW_MS);
    const after = workloadStatus({ ...HEALTHY, connected: new Set() }, before, NOW_MS + 60_000);
    const times = Object.fromEntries((after.conditions ?? []).map((each) => [each.type, each.lastTransitionTime]));
    expect(times).toMatchObject({ Available: "2026-01-01T00:00:00Z", Connected: "2026-01-01T00:01:00Z" });
    expect(workloadStatus(HEALTHY, before, NOW_MS + 60_000)).toEqual(before);
  });

  it("names at most three pods that are not connected", () => {
    const facts = { ...HEALTHY, readyPods: ["a", "b", "c", "d", "e"], connected: new Set<string>() };
    const found = workloadStatus(facts, undefined, NOW_MS).conditions?.find(({ type }) => type === "Connected");
    expect(found?.message).toBe("not connected to the control plane: a, b, c and 2 more");
  });
});
