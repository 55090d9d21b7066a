// Tests of cluster-rules.ts: which resources have the rules of a domain, and what is warned of.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { describe, expect, it } from "vitest";

import { orderRules } from "../check/cluster-rules.ts";
import { findDomain } from "./configured-domain.ts";

interface Fields {
  readonly created?: string;
  readonly domain?: string;
  readonly fleets?: readonly string[];
  readonly descriptors?: readonly object[];
  readonly refused?: string;
  readonly observedGeneration?: number;
}

function objectOf(key: string, fields: Fields = {}): KubernetesObject {
  const [namespace = "", name = ""] = key.split("/");
  const { created = "2026-01-01T00:00:00Z", domain = "shop", refused, observedGeneration = 2 } = fields;
  const { descriptors = [{ key: "k" }], fleets } = fields;
  const accepted = { type: "Accepted", status: "False", message: refused, observedGeneration };
  const content = {
    metadata: { namespace, name, creationTimestamp: created, managedFields: [{}] },
    spec: { domain, descriptors, fleets },
    ...(refused !== undefined && { status: { conditions: [accepted] } }),
  };
  return { namespace, name, uid: key, resourceVersion: "1", generation: 2, content };
}

/** The owners, and each warning as one text with its domain. */
function ordered(...objects: readonly KubernetesObject[]): readonly (readonly string[])[] {
  const { resources, warnings } = orderRules(objects);
  return [
    resources.map(({ namespace, name }) => `${namespace}/${name}`),
    warnings.map(({ domain, path, message }) => `${domain} | ${path} | ${message}`),
  ];
}

describe("orderRules()", () => {
  it("gives a domain to the oldest resource, whatever its place in the list", () => {
    const young = objectOf("a/young", { created: "2026-02-01T00:00:00Z" });
    expect(ordered(young, objectOf("b/old"), objectOf("c/other", { domain: "mail" }))).toEqual([
      ["b/old", "c/other"],
      [
        "shop | a/young spec.domain | domain 'shop' belongs to b/old (b/old spec.domain): the oldest resource owns a domain, then the first by namespace and name: left out",
      ],
    ]);
  });

  it("keeps resources of one domain in different fleets", () => {
    expect(ordered(objectOf("a/one", { fleets: ["x"] }), objectOf("b/two", { fleets: ["y"] }))[0]).toEqual([
      "a/one",
      "b/two",
    ]);
  });

  it("leaves the domain to the oldest resource when that is invalid, and a younger one out", () => {
    const invalid = objectOf("a/broken", { descriptors: [{ key: "k" }, { key: "k" }] });
    const objects = [invalid, objectOf("b/young", { created: "2026-02-01T00:00:00Z" })];
    const [owners, warnings] = ordered(...objects);
    expect(owners).toEqual(["a/broken"]);
    expect(warnings).toEqual([
      expect.stringMatching(/^shop \| a\/broken spec\.descriptors\[1\]\.key \| duplicate .*: left out, pods enforce/),
      expect.stringMatching(/^shop \| b\/young spec\.domain \| domain 'shop' belongs to a\/broken /),
    ]);
    const { resources } = orderRules(objects);
    expect(findDomain({ resources, rules: [] }, { domain: "shop", fleet: undefined })).toBe(
      'cannot explain the domain "shop": its owner a/broken is invalid, and pods enforce its last good revision, which the cluster does not show',
    );
  });

  it.each([
    { when: "the present generation", observedGeneration: 2, warned: 1 },
    { when: "an earlier generation", observedGeneration: 1, warned: 0 },
  ])("warns of a status of $when that is not Accepted: $warned", ({ observedGeneration, warned }) => {
    const [owners, warnings] = ordered(objectOf("a/one", { refused: "belongs to b/x", observedGeneration }));
    expect(owners).toEqual(["a/one"]);
    const text = "shop | a/one | the cluster does not accept these rules: belongs to b/x";
    expect(warnings).toEqual(warned === 1 ? [text] : []);
  });

  it("gives each rule its field as its place", () => {
    const [resource] = orderRules([objectOf("a/one")]).resources;
    expect(resource?.rules.placeOf(["descriptors", 0])).toEqual({
      path: "a/one spec.descriptors[0]",
      line: 0,
      column: 0,
    });
  });
});
