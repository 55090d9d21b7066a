// Tests of what `weir status` prints, over statuses as the API server has them.
import { describe, expect, it } from "vitest";

import { RATE_LIMIT_CONFIG, RATE_LIMIT_SERVICE, type WeirKind } from "../cluster/weir-kinds.ts";
import { byUrgency, readResourceStatus, type ResourceStatus } from "./resource-status.ts";
import { statusTable, statusText } from "./status-text.ts";

const SINCE = "2026-01-31T12:00:00Z";

function condition(type: string, status: string, reason: string, message: string, observedGeneration = 3): object {
  return { type, status, reason, message, observedGeneration, lastTransitionTime: SINCE };
}

function resource(name: string, status: object | undefined, kind: WeirKind = RATE_LIMIT_CONFIG): ResourceStatus {
  const content = { metadata: { name }, ...(status !== undefined && { status }) };
  return readResourceStatus(kind, { name, namespace: "web", uid: "u", resourceVersion: "1", generation: 3, content });
}

const NACKED = resource("shop", {
  observedGeneration: 3,
  domain: "shop",
  servesLastGood: true,
  conditions: [
    condition("Accepted", "True", "Valid", "the rules are valid"),
    condition("Programmed", "False", "RejectedByDataPlane", "1 of 3 pods rejected it"),
    condition("Ready", "False", "RejectedByDataPlane", "1 of 3 pods rejected it"),
  ],
  pods: { total: 3, accepted: 2, rejected: 1, pending: 0, summary: "2/3" },
  fleets: [{ name: "edge", version: "5b142383be9c5b142383", total: 3, accepted: 2, rejected: 1, pending: 0 }],
  problems: [{ field: "spec.descriptors[0].key", message: "is odd" }],
  rejections: [{ pod: "web/edge-1", message: "web/shop: unknown\nunit \u001b[31m" }],
});

const READY = resource("api", { conditions: [condition("Ready", "True", "Programmed", "all 2 pods enforce it")] });

const STALE = resource("late", { conditions: [condition("Ready", "True", "Programmed", "all 2 pods enforce it", 2)] });

const NO_STATUS = resource("new", undefined);

function service(available: string, degraded: string, connected: string, progressing = "False"): ResourceStatus {
  const conditions = [
    condition("Available", available, "Pods", "2 pods are ready"),
    condition("Progressing", progressing, "RollingOut", "1 of 2 pods is as the resource says"),
    condition("Degraded", degraded, "FleetConflict", "other/edge has the fleet"),
    condition("Connected", connected, "Connecting", "1 of 2 pods is connected"),
  ];
  return resource("edge", { conditions, replicas: 2, readyReplicas: 1, fleet: "web.edge" }, RATE_LIMIT_SERVICE);
}

/** The status that the operator writes while a quota refuses the pods of the first rollout. */
const STUCK = resource(
  "core",
  {
    conditions: [
      condition("Ready", "False", "RolloutStuck", "pods are refused"),
      condition("Available", "False", "PodsNotReady", "0 of 2 pods are ready"),
      condition("Progressing", "True", "RollingOut", "0 of 2 pods are as the resource says"),
      condition(
        "Degraded",
        "True",
        "RolloutStuck",
        'pods "core-1" is forbidden: exceeded quota: one, requested: pods=1',
      ),
      condition("Connected", "False", "NoReadyPods", "no pod is ready"),
    ],
    ...{ replicas: 0, readyReplicas: 0 },
  },
  RATE_LIMIT_SERVICE,
);

const SERVES = resource(
  "core",
  {
    conditions: [
      condition("Ready", "True", "Ready", "all pods are as the resource says, ready and connected"),
      condition("Available", "True", "PodsReady", "2 of 2 pods are ready"),
      condition("Progressing", "False", "RolledOut", "all 2 pods are as the resource says"),
      condition("Degraded", "False", "AsExpected", "nothing is wrong"),
      condition("Connected", "True", "PodsConnected", "all 2 ready pods are connected"),
    ],
  },
  RATE_LIMIT_SERVICE,
);

describe("readResourceStatus()", () => {
  it.each([
    { of: NACKED, ready: "False", reason: "RejectedByDataPlane" },
    { of: READY, ready: "True", reason: "Programmed" },
    { of: STALE, ready: "Unknown", reason: "Stale" },
    { of: NO_STATUS, ready: "Unknown", reason: "NoStatus" },
    { of: service("False", "True", "False", "True"), ready: "False", reason: "FleetConflict" },
    { of: service("False", "False", "False", "True"), ready: "False", reason: "Pods" },
    { of: service("True", "False", "True", "True"), ready: "False", reason: "RollingOut" },
    { of: STUCK, ready: "False", reason: "RolloutStuck" },
    { of: SERVES, ready: "True", reason: "Ready" },
    { of: service("True", "True", "True"), ready: "False", reason: "FleetConflict" },
    { of: service("Unknown", "False", "False"), ready: "False", reason: "Connecting" },
    { of: service("True", "False", "Maybe"), ready: "Unknown", reason: "Connecting" },
    { of: resource("odd", { conditions: "none", pods: 3 }), ready: "Unknown", reason: "NoStatus" },
  ])("says $ready and $reason of $of.name", ({ of, ready, reason }) => {
    expect(of).toMatchObject({ ready, reason });
  });
});

describe("statusText()", () => {
  it("prints conditions, counts, fleets, problems with their fields and the pods' own words, on safe lines", () => {
    expect(statusText(NACKED)).toBe(`RateLimitConfig web/shop (generation 3)
not ready: RejectedByDataPlane: 1 of 3 pods rejected it

CONDITION    STATUS   REASON                SINCE                  MESSAGE
Accepted     True     Valid                 2026-01-31T12:00:00Z   the rules are valid
Programmed   False    RejectedByDataPlane   2026-01-31T12:00:00Z   1 of 3 pods rejected it
Ready        False    RejectedByDataPlane   2026-01-31T12:00:00Z   1 of 3 pods rejected it

pods             2 accepted, 1 rejected, 0 pending, 3 total
domain           shop
servesLastGood   true

FLEET   ACCEPTED   REJECTED   PENDING   TOTAL   VERSION
edge    2          1          0         3       5b142383be9c

PROBLEMS
  spec.descriptors[0].key: is odd

REJECTED BY
  web/edge-1: web/shop: unknown unit \\u001b[31m
`);
  });

  it("marks a condition of an earlier generation", () => {
    expect(statusText(STALE)).toBe(`RateLimitConfig web/late (generation 3)
unknown: Stale: the status is about generation 2, the present one is 3

CONDITION   STATUS   REASON       SINCE                  MESSAGE
Ready       True     Programmed   2026-01-31T12:00:00Z   (generation 2) all 2 pods enforce it
`);
  });

  it("says why a RateLimitService is not ready, not what follows from it", () => {
    expect(statusText(STUCK).split("\n").slice(0, 2)).toEqual([
      "RateLimitService web/core (generation 3)",
      'not ready: RolloutStuck: pods "core-1" is forbidden: exceeded quota: one, requested: pods=1',
    ]);
    expect(statusText(SERVES)).toContain("ready: Ready: all pods are as the resource says, ready and connected\n");
  });

  it("prints the counts of a RateLimitService", () => {
    expect(statusText(service("True", "False", "True"))).toContain(
      "replicas        2\nreadyReplicas   1\nfleet           web.edge\n",
    );
  });

  it("says that there is no status", () => {
    expect(statusText(NO_STATUS)).toBe(
      "RateLimitConfig web/new (generation 3)\nunknown: NoStatus: no condition Ready yet, is weir-operator running?\n",
    );
  });
});

describe("statusTable()", () => {
  it("puts the worst first", () => {
    const resources = [READY, STALE, NACKED, service("True", "True", "True")].toSorted(byUrgency);
    expect(statusTable(resources, true)).toBe(`NAMESPACE   NAME       READY     REASON                PODS   MESSAGE
web         rls/edge   False     FleetConflict         1/2    other/edge has the fleet
web         rlc/shop   False     RejectedByDataPlane   2/3    1 of 3 pods rejected it
web         rlc/late   Unknown   Stale                 -      the status is about generation 2, the present one is 3
web         rlc/api    True      Programmed            -      all 2 pods enforce it
`);
    expect(statusTable([READY], false)).toBe(
      "NAME      READY   REASON       PODS   MESSAGE\nrlc/api   True    Programmed   -      all 2 pods enforce it\n",
    );
  });
});
