import { describe, expect, it } from "vitest";

import { ownerOfRevision, revisionName, revisionOf } from "./revision.ts";

const OWNER = { namespace: "team", name: "shop", uid: "1" };
const SPEC = { domain: "shop", descriptors: [{ key: "user", value: "" }] };

describe("revisionName()", () => {
  it("is the owner's name with a hash of UID and spec, whatever the order of fields", () => {
    const name = revisionName(OWNER, SPEC);
    expect(name).toMatch(/^shop-[0-9a-f]{20}$/);
    expect(revisionName(OWNER, { descriptors: [{ value: "", key: "user" }], domain: "shop" })).toBe(name);
    const others = [
      revisionName({ ...OWNER, uid: "2" }, SPEC),
      revisionName(OWNER, { ...SPEC, fleets: ["edge"] }),
      revisionName(OWNER, { ...SPEC, descriptors: [{ key: "value", value: "" }] }),
    ];
    expect(new Set([name, ...others]).size).toBe(4);
  });

  it("fits what Kubernetes allows, and is a name also when the cut is at a dot", () => {
    const name = revisionName({ ...OWNER, name: `${"a".repeat(231)}.${"b".repeat(21)}` }, SPEC);
    expect(name.length).toBeLessThanOrEqual(253);
    expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  });
});

describe("ownerOfRevision()", () => {
  const { metadata } = revisionOf(OWNER, SPEC);
  const [reference] = metadata.ownerReferences;
  const foreign = { ...reference, apiVersion: "apps/v1", kind: "Deployment" };

  it.each([
    { what: "the one owner", value: metadata, expected: { name: "shop", uid: "1" } },
    {
      what: "the one that is a RateLimitConfig",
      value: { ownerReferences: [foreign, reference] },
      expected: { name: "shop", uid: "1" },
    },
    { what: "no owner", value: {}, expected: undefined },
    { what: "two", value: { ownerReferences: [reference, { ...reference, uid: "2" }] }, expected: undefined },
    { what: "another kind", value: { ownerReferences: [foreign] }, expected: undefined },
    { what: "no object", value: null, expected: undefined },
    { what: "no UID", value: { ownerReferences: [{ ...reference, uid: undefined }] }, expected: undefined },
  ])("finds $what", ({ value, expected }) => {
    expect(ownerOfRevision(value)).toEqual(expected);
  });
});
