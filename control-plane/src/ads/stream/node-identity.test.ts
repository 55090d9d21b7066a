// Tests of node-identity.ts.
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import { describe, expect, it } from "vitest";

import { fleetNamedBy, identityOf, namespaceNamedBy, podName } from "./node-identity.ts";

describe("identityOf()", () => {
  it.each([
    { when: "there is no node", node: undefined, fleet: "default" },
    { when: "the id is empty", node: { id: "" }, fleet: "default" },
    { when: "the id has no slash", node: { id: "gateway" }, fleet: "gateway" },
    { when: "the id has a slash", node: { id: "gateway/pod-7" }, fleet: "gateway" },
    { when: "the id has several slashes", node: { id: "a/b/c" }, fleet: "a" },
    { when: "nothing stands before the slash", node: { id: "/pod-7" }, fleet: "default" },
    { when: "the metadata names one", node: { id: "gateway/pod-7", metadata: { fleet: "gold" } }, fleet: "gold" },
    {
      when: "the metadata names an empty one",
      node: { id: "gateway/pod-7", metadata: { fleet: "" } },
      fleet: "gateway",
    },
    {
      when: "the metadata names something else than a text",
      node: { id: "gateway", metadata: { fleet: 7 } },
      fleet: "gateway",
    },
  ])("gives the fleet $fleet when $when", ({ node, fleet }) => {
    expect(identityOf(node === undefined ? undefined : create(NodeSchema, node)).fleet).toBe(fleet);
  });

  it("takes namespace and pod from the metadata, and cuts what is too long to show", () => {
    const node = create(NodeSchema, { id: "i".repeat(300), metadata: { namespace: "edge", pod: "pod-7" } });
    expect(identityOf(node)).toMatchObject({ nodeId: `${"i".repeat(256)}…`, namespace: "edge", pod: "pod-7" });
  });

  it.each([
    { when: "the metadata says it", node: { id: "a", metadata: { fleet: "f".repeat(60_000) } } },
    { when: "the id begins with it", node: { id: `${"f".repeat(60_000)}/pod-7` } },
  ])("keeps no fleet that would fill log and report when $when", ({ node }) => {
    expect(identityOf(create(NodeSchema, node)).fleet).toBe(`${"f".repeat(256)}…`);
  });
});

describe("identityOf() with a certificate", () => {
  const granted = { namespace: "shop", fleet: "core" };

  it("takes namespace and fleet of the certificate, whatever the node names", () => {
    expect(identityOf(undefined, granted)).toEqual({ nodeId: "", ...granted, pod: "" });
    const metadata = { namespace: "bank", fleet: "gold", pod: "pod-7" };
    expect(identityOf(create(NodeSchema, { id: "edge/x", metadata }), granted)).toEqual({
      nodeId: "edge/x",
      ...granted,
      pod: "pod-7",
    });
  });
});

describe("namespaceNamedBy()", () => {
  it.each([
    { node: undefined, named: undefined },
    { node: { id: "shop/pod-7" }, named: undefined },
    { node: { metadata: { namespace: "" } }, named: undefined },
    { node: { metadata: { namespace: ["shop"] } }, named: undefined },
    { node: { metadata: { namespace: "n".repeat(300) } }, named: "n".repeat(300) },
  ])("gives $named for $node", ({ node, named }) => {
    expect(namespaceNamedBy(node === undefined ? undefined : create(NodeSchema, node))).toBe(named);
  });
});

describe("fleetNamedBy()", () => {
  it.each([
    { node: undefined, named: undefined },
    { node: { id: "" }, named: undefined },
    { node: { id: "gateway" }, named: undefined }, // The name of the pod, as a rule.
    { node: { id: "/pod-7" }, named: undefined },
    { node: { id: "gateway/pod-7" }, named: "gateway" },
    { node: { id: "gateway/" }, named: "gateway" },
    { node: { id: "pod-7", metadata: { fleet: "gold" } }, named: "gold" },
    { node: { id: "gateway/pod-7", metadata: { fleet: "" } }, named: "gateway" },
    { node: { id: "pod-7", metadata: { fleet: ["gold"] } }, named: undefined },
    { node: { id: "g".repeat(300), metadata: { fleet: "f".repeat(300) } }, named: "f".repeat(300) },
  ])("gives $named for $node", ({ node, named }) => {
    expect(fleetNamedBy(node === undefined ? undefined : create(NodeSchema, node))).toBe(named);
  });
});

describe("podName()", () => {
  it.each([
    { namespace: "edge", pod: "pod-7", nodeId: "gateway/pod-7", expected: "edge/pod-7" },
    { namespace: "", pod: "pod-7", nodeId: "gateway/pod-7", expected: "pod-7" },
    { namespace: "edge", pod: "", nodeId: "gateway/pod-7", expected: "gateway/pod-7" },
    { namespace: "", pod: "", nodeId: "", expected: "192.0.2.1:4711" },
  ])("gives $expected for pod '$namespace/$pod' and node id '$nodeId'", ({ expected, ...identity }) => {
    expect(podName(identity, "192.0.2.1:4711")).toBe(expected);
  });
});
