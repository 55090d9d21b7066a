// Obstacles that keep pods from becoming ready, from statuses as a kubelet writes them.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { describe, expect, it } from "vitest";

import { podObstacles, type PodSurroundings } from "./pod-obstacles.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

/** A time so many seconds ago, as Kubernetes writes it. */
function ago(seconds: number): string {
  return new Date(NOW_MS - seconds * 1000).toISOString();
}

function podOf(status: object, name = "p1", metadata: object = {}): KubernetesObject {
  const content = { metadata, status: { phase: "Pending", ...status } };
  return { name, namespace: "shop", uid: name, resourceVersion: "1", generation: 1, content };
}

const SURROUNDINGS: PodSurroundings = {
  nowMs: NOW_MS,
  connected: new Set(["connected"]),
  secrets: "the Secret store (pass)",
  foreignCertificate: undefined,
  store: "redis at redis:6379",
};

function condition(type: string, status: string, seconds: number, more: object = {}): object {
  return { type, status, lastTransitionTime: ago(seconds), ...more };
}

/** The container of a pod that runs since so many seconds, and is not ready. */
function running(seconds: number, more: object = {}): object {
  return { name: "ratelimit", ready: false, restartCount: 0, state: { running: { startedAt: ago(seconds) } }, ...more };
}

const SCHEDULED = condition("PodScheduled", "True", 60);
const UNREADY = condition("Ready", "False", 60);
const WORDS = 'first\n\nsecond\nthird\nCannot read settings: PORT: "x" is no number\n';
const ENDED = { terminated: { exitCode: 1, reason: "Error", message: WORDS } };
const END = 'its container ended with exit code 1 (Error): second; third; Cannot read settings: PORT: "x" is no number';

describe("podObstacles()", () => {
  it.each([
    {
      what: "cannot be scheduled",
      status: { conditions: [condition("PodScheduled", "False", 10, { reason: "Unschedulable", message: "no node" })] },
      text: "Unschedulable: no node",
      isStuck: true,
    },
    {
      what: "has not been scheduled yet",
      status: { conditions: [condition("PodScheduled", "False", 9, { reason: "Unschedulable", message: "no node" })] },
      text: "Unschedulable: no node",
      isStuck: false,
    },
    {
      what: "has no image",
      status: {
        conditions: [SCHEDULED],
        containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } } }],
      },
      text: "ImagePullBackOff: no such image",
      isStuck: true,
    },
    {
      what: "waits between two ends",
      status: {
        containerStatuses: [
          { state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } }, lastState: ENDED },
        ],
      },
      text: `CrashLoopBackOff: ${END}`,
      isStuck: true,
    },
    {
      what: "runs again after two ends",
      status: { containerStatuses: [running(1, { restartCount: 2, lastState: ENDED })] },
      text: `CrashLoopBackOff: ${END}`,
      isStuck: true,
    },
    {
      what: "has just ended",
      status: { containerStatuses: [{ state: { terminated: { ...ENDED.terminated, finishedAt: ago(9) } } }] },
      text: END,
      isStuck: false,
    },
    {
      what: "was ended without words and is not started again",
      status: {
        containerStatuses: [{ state: { terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: ago(10) } } }],
      },
      text: "its container ended with exit code 137 (OOMKilled)",
      isStuck: true,
    },
    {
      what: "starts again after one end",
      status: {
        conditions: [UNREADY],
        containerStatuses: [running(1, { name: "other", restartCount: 1, lastState: ENDED })],
      },
      text: "its container other is not ready",
      isStuck: false,
    },
    {
      what: "waits for a Secret",
      status: {
        conditions: [condition("PodScheduled", "True", 10), condition("PodReadyToStartContainers", "False", 10)],
        containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }],
      },
      text: "it waits for its volumes, which need the Secret store (pass)",
      isStuck: true,
    },
    {
      what: "pulls its image",
      status: {
        conditions: [SCHEDULED, condition("PodReadyToStartContainers", "True", 59)],
        containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }],
      },
      text: "ContainerCreating: perhaps its image is being pulled",
      isStuck: false,
    },
    {
      what: "starts",
      status: { conditions: [UNREADY], containerStatuses: [running(9)] },
      text: "it runs and is not connected to the control plane: redis at redis:6379 does not answer, or the control plane is not reached or refuses it",
      isStuck: false,
    },
    {
      what: "does not get further than its store",
      status: { conditions: [UNREADY], containerStatuses: [running(10)] },
      text: "it runs and is not connected to the control plane: redis at redis:6379 does not answer, or the control plane is not reached or refuses it",
      isStuck: true,
    },
    {
      what: "was ready until now",
      status: { conditions: [condition("Ready", "False", 1)], containerStatuses: [running(1000)] },
      text: "it runs and is not connected to the control plane: redis at redis:6379 does not answer, or the control plane is not reached or refuses it",
      isStuck: false,
    },
    {
      what: "has another container that is not ready",
      status: {
        conditions: [UNREADY],
        initContainerStatuses: [{ name: "init", ready: true, state: { terminated: { exitCode: 0 } } }],
        containerStatuses: [
          { name: "ratelimit", ready: true, state: { running: { startedAt: ago(60) } } },
          running(10, { name: "proxy" }),
        ],
      },
      text: "its container proxy is not ready",
      isStuck: true,
    },
    {
      what: "is held back by a gate",
      status: {
        conditions: [condition("Ready", "False", 10, { reason: "ReadinessGatesNotReady", message: "no target" })],
        containerStatuses: [{ name: "ratelimit", ready: true, state: { running: { startedAt: ago(60) } } }],
      },
      text: "ReadinessGatesNotReady: no target",
      isStuck: true,
    },
  ])("names what keeps a pod that $what, and whether that passes", ({ status, text, isStuck }) => {
    expect(podObstacles([podOf(status)], SURROUNDINGS)).toEqual([{ text: `pod p1: ${text}`, isStuck }]);
  });

  it.each([
    { what: "ready", pod: podOf({ conditions: [condition("Ready", "True", 1)] }) },
    { what: "ending", pod: podOf({ containerStatuses: [running(99)] }, "p1", { deletionTimestamp: ago(1) }) },
    { what: "evicted", pod: podOf({ phase: "Failed", containerStatuses: [{ state: ENDED }] }) },
    { what: "not seen by a kubelet yet", pod: podOf({ conditions: [SCHEDULED] }) },
  ])("says nothing stuck of a pod that is $what", ({ pod }) => {
    expect(podObstacles([pod], SURROUNDINGS).filter(({ isStuck }) => isStuck)).toEqual([]);
  });

  it.each([
    { what: "has connected", name: "connected", more: {}, text: "redis at redis:6379 does not answer, or it waits" },
    { what: "has no store", name: "p1", more: { store: undefined }, text: "control plane: the control plane is not" },
    { what: "is not reported", name: "p1", more: { connected: undefined }, text: /it runs and is not ready$/ },
    {
      what: "has a certificate of others",
      name: "p1",
      more: { foreignCertificate: "not kept" },
      text: "refuses it; not kept",
    },
  ])("says no more than is known of a pod that $what", ({ name, more, text }) => {
    const pod = podOf({ conditions: [UNREADY], containerStatuses: [running(10)] }, name);
    const [obstacle] = podObstacles([pod], { ...SURROUNDINGS, ...more });
    expect(obstacle?.text).toMatch(text);
  });

  it("is in the order of the names", () => {
    const pods = ["b", "a"].map((name) => podOf({ containerStatuses: [{ state: ENDED }] }, name));
    expect(podObstacles(pods, SURROUNDINGS).map(({ text }) => text.slice(0, 5))).toEqual(["pod a", "pod b"]);
  });
});
