import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { describe, expect, it } from "vitest";

import { replicaEndpoints } from "./replica-endpoints.ts";

const OPTIONS = { service: "control-plane", portName: "ads" };

function sliceOf(name: string, content: object, service = "control-plane"): KubernetesObject {
  const metadata = { name, labels: { "kubernetes.io/service-name": service } };
  const ports = [
    { name: "http", port: 1 },
    { name: "ads", port: 8081 },
  ];
  return {
    name,
    namespace: "weir-system",
    uid: name,
    resourceVersion: "1",
    generation: 1,
    content: { metadata, ports, ...content },
  };
}

function endpoint(address: string, conditions: object, pod = "cp-0") {
  return { addresses: [address], conditions, targetRef: { name: pod, uid: `uid of ${pod}` } };
}

function addressesOf(...slices: readonly KubernetesObject[]): readonly string[] {
  return Array.from(replicaEndpoints(slices, OPTIONS).values(), ({ name, address, isReady }) =>
    [name, address, isReady ? "ready" : "not ready"].join(" "),
  );
}

describe("replicaEndpoints()", () => {
  it.each([
    { what: "ready ones", endpoints: [endpoint("10.0.0.1", { ready: true })], found: ["cp-0 10.0.0.1:8081 ready"] },
    { what: "ones of unknown readiness", endpoints: [endpoint("10.0.0.1", {})], found: ["cp-0 10.0.0.1:8081 ready"] },
    { what: "others", endpoints: [endpoint("10.0.0.1", { ready: false })], found: ["cp-0 10.0.0.1:8081 not ready"] },
    { what: "no terminating ones", endpoints: [endpoint("10.0.0.1", { ready: true, terminating: true })], found: [] },
    { what: "IPv6 addresses", endpoints: [endpoint("fd00::1", {})], found: ["cp-0 [fd00::1]:8081 ready"] },
    {
      what: "addresses without pods",
      endpoints: [{ addresses: ["10.0.0.9"] }],
      found: ["10.0.0.9 10.0.0.9:8081 ready"],
    },
    { what: "nothing in an empty slice", endpoints: null, found: [] },
  ])("finds $what", ({ endpoints, found }) => {
    expect(addressesOf(sliceOf("a", { endpoints }))).toEqual(found);
  });

  it("counts a replica with two addresses once", () => {
    const [four, six] = [endpoint("10.0.0.1", {}), endpoint("fd00::1", {})];
    expect(addressesOf(sliceOf("b", { endpoints: [six] }), sliceOf("a", { endpoints: [four] }))).toEqual([
      "cp-0 10.0.0.1:8081 ready",
    ]);
  });

  it("skips slices of other Services and without the port", () => {
    const endpoints = [endpoint("10.0.0.1", {})];
    expect(addressesOf(sliceOf("a", { endpoints }, "other"), sliceOf("b", { endpoints, ports: null }))).toEqual([]);
  });
});
