// Tests of ready-pods.ts: which pods are behind each fleet.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { describe, expect, it } from "vitest";

import { ObjectCache } from "../reconcile/object-cache.ts";
import { FleetPods, readyPodsOf } from "./ready-pods.ts";

const READY = [{ type: "Ready", status: "True" }];

function service(namespace: string, name: string, spec: object = {}, created = "2026-01-01"): KubernetesObject {
  const metadata = { creationTimestamp: `${created}T00:00:00Z` };
  return {
    namespace,
    name,
    uid: `${namespace}-${name}`,
    resourceVersion: "1",
    generation: 1,
    content: { metadata, spec },
  };
}

function pod(
  namespace: string,
  name: string,
  { instance = "core", conditions = READY, podIPs = [{ ip: "10.0.0.1" }], metadata = {}, version = "1" } = {},
): KubernetesObject {
  const labels = { "app.kubernetes.io/name": "weir-ratelimit", "app.kubernetes.io/instance": instance };
  const content = { metadata: { labels, ...metadata }, status: { conditions, podIPs } };
  return { namespace, name, uid: name, resourceVersion: version, generation: 1, content };
}

/** The fleets with the addresses of their pods, and those that must be connected. */
function textOf(pods: ReturnType<typeof readyPodsOf>): unknown {
  return Object.fromEntries(
    Array.from(pods, ([fleet, { addresses, ready, awaited }]) => [
      fleet,
      {
        ...Object.fromEntries(Array.from(addresses, ([name, known]) => [name, [...known]])),
        ready: [...ready],
        awaited: [...awaited],
      },
    ]),
  );
}

describe("readyPodsOf()", () => {
  it.each<{ what: string; services: KubernetesObject[]; pods: KubernetesObject[]; expected: object }>([
    {
      what: "a ready pod with addresses of both families",
      services: [service("shop", "core")],
      pods: [pod("shop", "core-a", { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] })],
      expected: {
        "shop.core": { "shop/core-a": ["10.0.0.1", "fd00::1"], ready: ["shop/core-a"], awaited: ["shop/core-a"] },
      },
    },
    {
      what: "as ready no pod that is not, and none that is about to end, of another namespace or of another Service",
      services: [service("shop", "core")],
      pods: [
        pod("shop", "core-a", { conditions: [] }),
        pod("shop", "core-b", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
        pod("bank", "core-c"),
        pod("shop", "edge-a", { instance: "edge" }),
        pod("shop", "core-d", { metadata: { labels: { "app.kubernetes.io/instance": "core" } } }),
      ],
      expected: { "shop.core": { "shop/core-a": ["10.0.0.1"], ready: [], awaited: [] } },
    },
    {
      what: "the pods of two Services that share a fleet",
      services: [service("shop", "core", { fleet: "f" }), service("shop", "edge", { fleet: "f" })],
      pods: [pod("shop", "core-a"), pod("shop", "edge-a", { instance: "edge" })],
      expected: {
        f: {
          "shop/core-a": ["10.0.0.1"],
          "shop/edge-a": ["10.0.0.1"],
          ready: ["shop/core-a", "shop/edge-a"],
          awaited: ["shop/core-a", "shop/edge-a"],
        },
      },
    },
    {
      what: "no pod of a service that conflicts with the owner of the fleet",
      services: [service("shop", "core", { fleet: "f" }), service("bank", "core", { fleet: "f" }, "2026-02-02")],
      pods: [pod("shop", "core-a"), pod("bank", "core-b")],
      expected: { f: { "shop/core-a": ["10.0.0.1"], ready: ["shop/core-a"], awaited: ["shop/core-a"] } },
    },
    {
      what: "a pod of another control plane, which is not awaited",
      services: [service("shop", "core", { controlPlane: { address: "ads.example:18000" } })],
      pods: [pod("shop", "core-a")],
      expected: { "shop.core": { "shop/core-a": ["10.0.0.1"], ready: ["shop/core-a"], awaited: [] } },
    },
  ])("has $what", ({ services, pods, expected }) => {
    expect(textOf(readyPodsOf(services, pods))).toEqual(expected);
  });
});

describe("FleetPods", () => {
  it("notifies of changes that matter, and of no others", () => {
    const [services, pods] = [new ObjectCache(), new ObjectCache()];
    const fleets = new FleetPods({ services, pods });
    let changes = 0;
    fleets.onChange(() => (changes += 1));
    services.put(service("shop", "core"));
    pods.put(pod("shop", "core-a"));
    expect([changes, textOf(fleets.byFleet())]).toEqual([
      2,
      { "shop.core": { "shop/core-a": ["10.0.0.1"], ready: ["shop/core-a"], awaited: ["shop/core-a"] } },
    ]);
    const before = fleets.byFleet();
    pods.put(pod("shop", "core-a", { version: "2" })); // As its status is written for other reasons.
    services.put({ ...service("shop", "core", { replicas: 3 }), resourceVersion: "2" });
    expect([changes, fleets.byFleet() === before]).toEqual([2, true]);
    pods.put(pod("shop", "core-a", { version: "3", conditions: [] }));
    expect([changes, textOf(fleets.byFleet())]).toEqual([
      3,
      { "shop.core": { "shop/core-a": ["10.0.0.1"], ready: [], awaited: [] } },
    ]);
  });
});
