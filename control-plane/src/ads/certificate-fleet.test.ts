// Tests of certificate-fleet.ts.
import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { NodeSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import { describe, expect, it } from "vitest";

import { fleetOfCertificate, otherNameRefusal } from "./certificate-fleet.ts";

const URI = "spiffe://cluster.local/ns/shop/fleet/core";

describe("fleetOfCertificate()", () => {
  it.each([
    { subjectaltname: `URI:${URI}`, namespace: "shop", fleet: "core" },
    { subjectaltname: `DNS:ratelimit, URI:${URI}, IP Address:192.0.2.1`, namespace: "shop", fleet: "core" },
    { subjectaltname: "URI:spiffe://td_1.example-2/ns/a/fleet/Edge_v1.2-x", namespace: "a", fleet: "Edge_v1.2-x" },
    {
      subjectaltname: `URI:spiffe://a/ns/${"n".repeat(63)}/fleet/${"f".repeat(63)}`,
      namespace: "n".repeat(63),
      fleet: "f".repeat(63),
    },
  ])("gives $namespace and $fleet for $subjectaltname", ({ subjectaltname, namespace, fleet }) => {
    const uri = expect.stringContaining(`/ns/${namespace}/fleet/${fleet}`) as string;
    expect(fleetOfCertificate({ subjectaltname })).toEqual({ namespace, fleet, uri });
  });

  it.each([
    { when: "there is no certificate", text: undefined },
    { when: "it has no names", text: "" },
    { when: "it has no URI", text: "DNS:ratelimit" },
    { when: "the name is of another kind", text: `DNS:${URI}` },
    { when: "it has two URIs of fleets", text: `URI:${URI}, URI:spiffe://a/ns/b/fleet/edge` },
    { when: "it has the same URI twice", text: `URI:${URI}, URI:${URI}` },
    { when: "it has another URI, too", text: `URI:${URI}, URI:https://weir.example` },
    { when: "one of its URIs cannot be read", text: `URI:${URI}, URI:"no JSON \\x"` },
    { when: "one URI looks like two", text: `URI:"${URI}\\u002c URI:${URI}"` },
    { when: "the URI is another one", text: "URI:spiffe://cluster.local/ns/shop/sa/core" },
    { when: "a path follows", text: `URI:${URI}/x` },
    { when: "a path precedes", text: "URI:spiffe://a/x/ns/b/fleet/core" },
    { when: "it ends in a slash", text: `URI:${URI}/` },
    { when: "the fleet is empty", text: "URI:spiffe://cluster.local/ns/shop/fleet/" },
    { when: "the namespace is empty", text: "URI:spiffe://cluster.local/ns//fleet/core" },
    { when: "the trust domain is empty", text: "URI:spiffe:///ns/shop/fleet/core" },
    { when: "the fleet is a dot segment", text: "URI:spiffe://cluster.local/ns/shop/fleet/.." },
    { when: "a character is percent-encoded", text: "URI:spiffe://cluster.local/ns/shop/fleet/co%72e" },
    { when: "a slash is percent-encoded", text: "URI:spiffe://cluster.local/ns/shop/fleet/core%2Fx" },
    { when: "the scheme is in upper case", text: "URI:SPIFFE://cluster.local/ns/shop/fleet/core" },
    { when: "the trust domain is in upper case", text: "URI:spiffe://Cluster.local/ns/shop/fleet/core" },
    { when: "the path is in upper case", text: "URI:spiffe://cluster.local/NS/shop/FLEET/core" },
    { when: "there is a port", text: "URI:spiffe://cluster.local:1/ns/shop/fleet/core" },
    { when: "there is a user", text: "URI:spiffe://a@cluster.local/ns/shop/fleet/core" },
    { when: "there is a query", text: `URI:${URI}?x` },
    { when: "there is a fragment", text: `URI:${URI}#x` },
    { when: "a line break follows", text: `URI:"${URI}\\u000a"` },
    { when: "a null character follows", text: `URI:"${URI}\\u0000x"` },
    { when: "there are other letters", text: 'URI:"spiffe://cluster.local/ns/shop/fleet/caf\\u00e9"' },
    { when: "the namespace is no name of one", text: "URI:spiffe://cluster.local/ns/Shop/fleet/core" },
    { when: "no resource can name the fleet", text: "URI:spiffe://cluster.local/ns/shop/fleet/-core" },
    { when: "the fleet is too long", text: `URI:spiffe://a/ns/b/fleet/${"f".repeat(64)}` },
  ])("refuses a certificate when $when", ({ text }) => {
    expect(fleetOfCertificate(text === undefined ? undefined : { subjectaltname: text })).toMatchObject({
      code: status.PERMISSION_DENIED,
      message:
        "Refused a pod, its certificate does not have exactly one URI spiffe://<trust domain>/ns/<namespace>/fleet/<fleet>",
    });
  });

  it("names the URIs, cut to a few", () => {
    const uris = Array.from({ length: 7 }, (_, index) => `URI:https://${"x".repeat(200)}/${index}`);
    const { details } = fleetOfCertificate({ subjectaltname: uris.join(", ") }) as { details: string };
    expect(details).toMatch(/ its URIs are: (https:\/\/x{92}…, ){4}https:\/\/x{92}… and 2 more$/);
    expect(fleetOfCertificate({ subjectaltname: "DNS:a" })).toMatchObject({ fields: { uris: "none" } });
  });
});

describe("otherNameRefusal()", () => {
  const granted = { namespace: "shop", fleet: "core", uri: URI };

  it.each([
    { when: "there is no node", node: undefined },
    { when: "the id has no slash", node: { id: "edge" } },
    { when: "the id begins with the fleet", node: { id: "core/pod-7" } },
    { when: "the metadata has the namespace", node: { metadata: { namespace: "shop" } } },
    { when: "the namespace is no text", node: { metadata: { namespace: ["bank"] } } },
    { when: "the id begins with the fleet, whose name is that of another namespace", node: { id: "core/bank" } },
    { when: "the metadata has the fleet, and the id begins with something else", node: { id: "a/b", metadata: { fleet: "core" } } }, // prettier-ignore
  ])("refuses nothing when $when", ({ node }) => {
    expect(otherNameRefusal(node === undefined ? undefined : create(NodeSchema, node), granted)).toBeUndefined();
  });

  it.each([
    { node: { id: "edge/pod-7" }, named: "edge" },
    { node: { id: "Core/pod-7" }, named: "Core" },
    { node: { id: "co%72e/pod-7" }, named: "co%72e" },
    { node: { id: "core/pod-7", metadata: { fleet: "edge" } }, named: "edge" },
    { node: { id: "pod-7", metadata: { fleet: " core" } }, named: " core" },
    { node: { id: "pod-7", metadata: { fleet: "*" } }, named: "*" },
    { node: { id: `${"f".repeat(60_000)}/x` }, named: `${"f".repeat(100)}…` },
  ])("refuses a node that names $named", ({ node, named }) => {
    expect(otherNameRefusal(create(NodeSchema, node), granted)).toEqual({
      code: status.PERMISSION_DENIED,
      details: `the node names the fleet ${named}, and the client certificate is for the fleet core (${URI})`,
      message: "Refused a pod, it names another fleet than its certificate",
      fields: { uri: URI, fleet: "core", named },
    });
  });

  it("compares whole names, also where they are cut for the log", () => {
    const long = "f".repeat(256);
    const node = create(NodeSchema, { id: `${long}x/pod-7` });
    expect(otherNameRefusal(node, { ...granted, fleet: long })).toBeDefined();
    expect(otherNameRefusal(node, { ...granted, fleet: `${long}…` })).toBeDefined();
  });

  it.each([
    { namespace: "bank", named: "bank" },
    { namespace: "Shop", named: "Shop" },
    { namespace: "shop ", named: "shop " },
    { namespace: "n".repeat(60_000), named: `${"n".repeat(100)}…` },
  ])("refuses a node in the namespace $named", ({ namespace, named }) => {
    const node = create(NodeSchema, { id: "core/pod-7", metadata: { namespace, pod: "pod-7" } });
    expect(otherNameRefusal(node, granted)).toEqual({
      code: status.PERMISSION_DENIED,
      details: `the node names the namespace ${named}, and the client certificate is for the namespace shop (${URI})`,
      message: "Refused a pod, it names another namespace than its certificate",
      fields: { uri: URI, namespace: "shop", named },
    });
  });
});
