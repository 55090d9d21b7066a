import type { RateLimitServiceStatus } from "@weir/crds/rate-limit-service/schema/schema";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { describe, expect, it } from "vitest";

import { isObserved, type StatusFacts, workloadStatus } from "./workload-status.ts";

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
const STUCK = [
  { type: "Available", status: "True" },
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
  problem: undefined,
};

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
      found: { Ready: "True Ready", Progressing: "True RollingOut" },
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
    {
      what: "cannot be scheduled",
      status: { conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no room" }] },
      message: "pod p9: Unschedulable: no room",
    },
    {
      what: "has no image",
      status: { containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } } }] },
      message: "pod p9: ImagePullBackOff: no such image",
    },
    {
      what: "ends again and again",
      status: { containerStatuses: [{ state: { running: {} }, lastState: { terminated: { reason: "Error" } } }] },
      message: "pod p9: Error",
    },
    { what: "says nothing", status: {}, message: "too late" },
  ])("names what keeps a pod that $what", ({ status, message }) => {
    const facts = { ...HEALTHY, deployment: deployment(HALF, STUCK), pods: [objectOf({ status }, "p9")] };
    const degraded = workloadStatus(facts, undefined, NOW_MS).conditions?.find(({ type }) => type === "Degraded");
    expect(degraded?.message).toBe(message);
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

it.each([
  { observed: 1, is: false },
  { observed: 2, is: true },
])("isObserved() is $is when the controller has seen generation $observed of 2", ({ observed, is }) => {
  expect(isObserved(objectOf({ status: { observedGeneration: observed } }))).toBe(is);
});
