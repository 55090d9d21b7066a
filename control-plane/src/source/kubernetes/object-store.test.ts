// Tests of object-store.ts: which changes matter, what is kept of an object that is broken, and
// what another one of its name inherits.
import { describe, expect, it } from "vitest";

import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { ObjectStore } from "./object-store.ts";

interface ObjectText {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly version?: string;
  readonly generation?: number;
  readonly domain?: unknown;
  readonly metadata?: object;
}

function object(text: ObjectText = {}): KubernetesObject {
  const {
    name = "a",
    namespace = "team",
    uid = "u1",
    version = "1",
    generation,
    domain = "alpha",
    metadata = {},
  } = text;
  const content = {
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: version,
      creationTimestamp: "2026-01-31T12:00:00Z",
      ...metadata,
    },
    spec: { domain },
  };
  return { name, namespace, uid, resourceVersion: version, generation, content };
}

function domainsOf(store: ObjectStore): readonly unknown[] {
  return store.list().map(({ key, resource }) => [key, resource?.resource.spec.domain, resource?.isLastGood]);
}

describe("ObjectStore", () => {
  it("list() is ordered by namespace and name, whatever the order of arrival", () => {
    const store = new ObjectStore();
    store.replace([object({ namespace: "b" }), object({ name: "b" }), object({ name: "a" })]);
    expect(store.list().map(({ key }) => key)).toEqual(["b/a", "team/a", "team/b"]);
  });

  it("put() returns true for a new object and for other content, and not for labels, status or versions", () => {
    const store = new ObjectStore();
    expect(store.put(object({ generation: 1 }))).toBe(true);
    expect(store.put(object({ generation: 1, version: "2", metadata: { labels: { x: "y" } } }))).toBe(false);
    expect(store.put(object({ generation: 2, version: "3", domain: "beta" }))).toBe(true);
    expect(domainsOf(store)).toEqual([["team/a", "beta", false]]);
  });

  it("put() takes other content of the same generation, and of none", () => {
    const store = new ObjectStore();
    store.put(object({ generation: 1 }));
    expect(store.put(object({ generation: 1, domain: "beta" }))).toBe(true);
    expect(store.put(object({ domain: "gamma" }))).toBe(true);
    expect(domainsOf(store)).toEqual([["team/a", "gamma", false]]);
  });

  it("put() takes over another generation of the same content, but not as that of a last good form", () => {
    const store = new ObjectStore();
    store.put(object({ generation: 1 }));
    expect(store.put(object({ generation: 2 }))).toBe(true);
    expect(store.list()[0]?.resource?.generation).toBe(2);
    store.put(object({ generation: 3, domain: 5 }));
    store.put(object({ generation: 4, domain: 5 }));
    expect([store.list()[0]?.generation, store.list()[0]?.resource?.generation]).toEqual([4, 2]);
  });

  it("replace() removes objects that are not in the list, and returns whether anything has changed", () => {
    const store = new ObjectStore();
    expect(store.replace([])).toBe(false);
    expect(store.replace([object({ generation: 1 }), object({ name: "b", generation: 1 })])).toBe(true);
    expect(store.replace([object({ generation: 1 }), object({ name: "b", generation: 1 })])).toBe(false);
    expect(store.replace([object({ generation: 1 })])).toBe(true);
    expect([store.size(), domainsOf(store)]).toEqual([1, [["team/a", "alpha", false]]]);
    // As many as before, but another one.
    expect(store.replace([object({ name: "b", generation: 1 })])).toBe(true);
  });

  it("delete() returns whether the object was in the store", () => {
    const store = new ObjectStore();
    store.put(object());
    expect([store.delete(object()), store.delete(object()), store.size()]).toEqual([true, false, 0]);
  });

  it("keeps the last good form of an object that is broken, through further broken ones, until it is right", () => {
    const store = new ObjectStore();
    store.put(object({ generation: 1 }));
    store.put(object({ generation: 2, domain: 5 }));
    store.put(object({ generation: 3, domain: true }));
    expect(domainsOf(store)).toEqual([["team/a", "alpha", true]]);
    expect(store.list()[0]?.refusals).toEqual([
      {
        place: { file: "ratelimitconfigs/team/a", line: 0, column: 0 },
        field: "spec.domain",
        message: "must be a string, is the boolean true: put it in quotes",
        resource: "team/a",
        keepsLastGood: true,
      },
    ]);
    store.put(object({ generation: 4, domain: "gamma" }));
    expect([domainsOf(store), store.list()[0]?.refusals]).toEqual([[["team/a", "gamma", false]], []]);
  });

  it("gives nothing of an object to another one with its name", () => {
    const store = new ObjectStore();
    store.put(object({ generation: 1 }));
    store.put(object({ uid: "u2", generation: 1, domain: 5 }));
    expect([domainsOf(store), store.list()[0]?.refusals[0]?.keepsLastGood]).toEqual([
      [["team/a", undefined, undefined]],
      false,
    ]);
    store.replace([object({ uid: "u3", generation: 1, domain: "beta" })]);
    expect(domainsOf(store)).toEqual([["team/a", "beta", false]]);
  });

  it("refuses rules that the rate limit service would refuse, with the path of the field", () => {
    const store = new ObjectStore();
    const twice = [{ key: "user" }, { key: "user" }];
    const { content, ...rest } = object();
    store.put({ ...rest, content: { ...content, spec: { domain: "alpha", descriptors: twice } } });
    expect(store.list()[0]?.refusals).toMatchObject([{ field: "spec.descriptors[1].key", resource: "team/a" }]);
  });

  it("does not keep what kubectl and the server remember in an object", () => {
    const store = new ObjectStore();
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", note: "kept" };
    store.put(object({ metadata: { managedFields: [{ manager: "kubectl" }], annotations } }));
    const { metadata } = store.list()[0]?.resource?.resource ?? {};
    expect([metadata?.annotations, metadata?.managedFields]).toEqual([{ note: "kept" }, undefined]);
  });

  it("has age, generation and identity of a resource, as far as the server sends them", () => {
    const store = new ObjectStore();
    store.put(object({ generation: 3 }));
    store.put(object({ name: "b", metadata: { creationTimestamp: undefined, annotations: null } }));
    const [known, bare] = store.list().map(({ resource }) => resource);
    expect(known).toMatchObject({
      namespace: "team",
      name: "a",
      uid: "u1",
      generation: 3,
      createdMs: Date.UTC(2026, 0, 31, 12),
    });
    expect([bare?.createdMs, bare !== undefined && "generation" in bare]).toEqual([0, false]);
  });

  it("accepts other content when the server no longer counts generations, and keeps the last generation of the same content", () => {
    const store = new ObjectStore();
    store.put(object({ generation: 3 }));
    expect([store.put(object()), store.list()[0]?.generation, store.list()[0]?.resource?.generation]).toEqual([
      false,
      3,
      3,
    ]);
  });

  it("reports at most a hundred problems of one resource", () => {
    const store = new ObjectStore();
    const { content, ...rest } = object();
    store.put({
      ...rest,
      content: { ...content, spec: { domain: "alpha", descriptors: Array.from({ length: 150 }, () => ({})) } },
    });
    expect(store.list()[0]?.refusals.length).toBe(100);
  });

  it("refuses an object that cannot be read, or has no spec, and reads the others", () => {
    const store = new ObjectStore();
    const { content, ...rest } = object();
    store.put({ ...rest, name: "unreadable", content: { ...content, metadata: null } });
    store.put({ ...rest, name: "no-spec", content: { ...content, spec: undefined } });
    store.put(object());
    expect(
      store
        .list()
        .map(({ key, resource, refusals }) => [key, resource !== undefined, refusals.map(({ message }) => message)]),
    ).toEqual([
      ["team/a", true, []],
      ["team/no-spec", false, ["is required"]],
      ["team/unreadable", false, [expect.stringMatching(/^the object cannot be read: /)]],
    ]);
  });
});
