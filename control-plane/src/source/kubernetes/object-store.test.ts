// Tests of object-store.ts, namespace-objects.ts and stored-object.ts: which changes matter, what is kept
// of an object that is broken, what another one of its name inherits, and the bound of a namespace.
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
  readonly shadowMode?: boolean;
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
    shadowMode,
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
    spec: { domain, ...(shadowMode !== undefined && { shadowMode }) },
  };
  return { name, namespace, uid, resourceVersion: version, generation, content };
}

/** The calls that the listener of a store has received, in short. */
const events: string[] = [];

function newStore(namespaceMax = 100): ObjectStore {
  events.length = 0;
  const note = (event: string, objects: readonly { readonly key: string }[]): void =>
    void events.push(`${event} ${objects.map(({ key }) => key).join()}`);
  return new ObjectStore(namespaceMax, {
    appeared: (objects) => note("appeared", objects),
    removed: (objects) => note("removed", objects),
    listed: () => events.push("listed"),
  });
}

/** Brings a whole list, in pages of this size. */
function list(store: ObjectStore, objects: readonly KubernetesObject[], pageSize = 100): boolean {
  let isChanged = false;
  for (let first = 0; first === 0 || first < objects.length; first += pageSize) {
    const page = { isFirst: first === 0, isLast: first + pageSize >= objects.length };
    isChanged = store.take({ objects: objects.slice(first, first + pageSize), ...page });
  }
  return isChanged;
}

function domainsOf(store: ObjectStore): readonly unknown[] {
  return store.list().map(({ key, resource }) => [key, resource?.resource.spec.domain, resource?.isLastGood]);
}

describe("ObjectStore", () => {
  it("list() is ordered by namespace and name, whatever the order of arrival", () => {
    const store = newStore();
    list(store, [object({ namespace: "b" }), object({ name: "b" }), object({ name: "a" })]);
    expect(store.list().map(({ key }) => key)).toEqual(["b/a", "team/a", "team/b"]);
  });

  it("put() returns true for a new object and for other content, and not for labels, status or versions", () => {
    const store = newStore();
    expect(store.put(object({ generation: 1 }))).toBe(true);
    expect(store.put(object({ generation: 1, version: "2", metadata: { labels: { x: "y" } } }))).toBe(false);
    expect(store.put(object({ generation: 2, version: "3", domain: "beta" }))).toBe(true);
    expect(domainsOf(store)).toEqual([["team/a", "beta", false]]);
  });

  it("put() takes other content of the same generation, and of none", () => {
    const store = newStore();
    store.put(object({ generation: 1 }));
    expect(store.put(object({ generation: 1, domain: "beta" }))).toBe(true);
    expect(store.put(object({ domain: "gamma" }))).toBe(true);
    expect(domainsOf(store)).toEqual([["team/a", "gamma", false]]);
  });

  it("put() takes over another generation of the same content, but not as that of a last good revision", () => {
    const store = newStore();
    store.put(object({ generation: 1 }));
    expect(store.put(object({ generation: 2 }))).toBe(true);
    expect(store.list()[0]?.resource?.generation).toBe(2);
    store.put(object({ generation: 3, domain: 5 }));
    store.put(object({ generation: 4, domain: 5 }));
    expect([store.list()[0]?.generation, store.list()[0]?.resource?.generation]).toEqual([4, 2]);
  });

  it("take() removes objects that are not in the list, and returns whether anything has changed", () => {
    const store = newStore();
    expect(list(store, [])).toBe(false);
    expect(list(store, [object({ generation: 1 }), object({ name: "b", generation: 1 })])).toBe(true);
    expect(list(store, [object({ generation: 1 }), object({ name: "b", generation: 1 })])).toBe(false);
    expect(list(store, [object({ generation: 1 })])).toBe(true);
    expect([store.list().length, domainsOf(store)]).toEqual([1, [["team/a", "alpha", false]]]);
    // As many as before, but another one.
    expect(list(store, [object({ name: "b", generation: 1 })])).toBe(true);
  });

  it("delete() returns whether the object was in the store", () => {
    const store = newStore();
    store.put(object());
    expect([store.delete(object()), store.delete(object()), store.list().length]).toEqual([true, false, 0]);
  });

  it("puts the last good revision into shadow mode with its object, and out of it", () => {
    const store = newStore();
    store.put(object());
    const switches = [true, false].map((shadowMode) => {
      store.put(object({ domain: 5, shadowMode }));
      return store.list()[0]?.resource?.resource.spec.shadowMode;
    });
    expect(switches).toEqual([true, false]);
  });

  it("keeps the last good revision of an object that is broken, through further broken ones, until it is right", () => {
    const store = newStore();
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
        uid: "u1",
        generation: 3,
      },
    ]);
    store.put(object({ generation: 4, domain: "gamma" }));
    expect([domainsOf(store), store.list()[0]?.refusals]).toEqual([[["team/a", "gamma", false]], []]);
  });

  it("gives nothing of an object to another one with its name", () => {
    const store = newStore();
    store.put(object({ generation: 1 }));
    store.put(object({ uid: "u2", generation: 1, domain: 5 }));
    expect([domainsOf(store), store.list()[0]?.refusals[0]?.keepsLastGood]).toEqual([
      [["team/a", undefined, undefined]],
      false,
    ]);
    list(store, [object({ uid: "u3", generation: 1, domain: "beta" })]);
    expect(domainsOf(store)).toEqual([["team/a", "beta", false]]);
  });

  it("reports rules that the rate limit service would reject, with the path of the field", () => {
    const store = newStore();
    const twice = [{ key: "user" }, { key: "user" }];
    const { content, ...rest } = object();
    store.put({ ...rest, content: { ...content, spec: { domain: "alpha", descriptors: twice } } });
    expect(store.list()[0]?.refusals).toMatchObject([{ field: "spec.descriptors[1].key", resource: "team/a" }]);
  });

  it("does not keep what kubectl and the server remember in an object", () => {
    const store = newStore();
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", note: "kept" };
    store.put(object({ metadata: { managedFields: [{ manager: "kubectl" }], annotations } }));
    const { metadata } = store.list()[0]?.resource?.resource ?? {};
    expect([metadata?.annotations, metadata?.managedFields]).toEqual([{ note: "kept" }, undefined]);
  });

  it("has age, generation and identity of a resource, as far as the server sends them", () => {
    const store = newStore();
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
    const store = newStore();
    store.put(object({ generation: 3 }));
    expect([store.put(object()), store.list()[0]?.generation, store.list()[0]?.resource?.generation]).toEqual([
      false,
      3,
      3,
    ]);
  });

  it("reports at most a hundred problems of one resource", () => {
    const store = newStore();
    const { content, ...rest } = object();
    store.put({
      ...rest,
      content: { ...content, spec: { domain: "alpha", descriptors: Array.from({ length: 150 }, () => ({})) } },
    });
    expect(store.list()[0]?.refusals.length).toBe(100);
  });

  it("reports an object that cannot be read, or has no spec, and reads the others", () => {
    const store = newStore();
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

  it("take() changes nothing before the last page, and notifies of removals before what is there instead", () => {
    const store = newStore();
    list(store, [object({ name: "a" }), object({ name: "b" })]);
    expect(events).toEqual(["appeared team/a,team/b", "listed"]);
    expect(store.take({ objects: [object({ name: "c" })], isFirst: true, isLast: false })).toBe(false);
    expect(store.list().map(({ key }) => key)).toEqual(["team/a", "team/b"]);
    // The list failed and began again.
    expect(list(store, [object({ name: "b" }), object({ name: "d" })], 1)).toBe(true);
    expect(store.list().map(({ key }) => key)).toEqual(["team/b", "team/d"]);
    expect(events.slice(2)).toEqual(["removed team/a", "appeared team/d", "listed"]);
  });
});

describe("ObjectStore, with at most two objects of a namespace", () => {
  function aged(name: string, second: number, text: ObjectText = {}): KubernetesObject {
    const creationTimestamp = new Date(second * 1000).toISOString();
    return object({ name, uid: `${name}-${second}`, metadata: { creationTimestamp }, ...text });
  }

  function contentOf(store: ObjectStore): readonly unknown[] {
    return [store.list().map(({ key }) => key), store.refusals().map(({ resource }) => resource), store.needsList()];
  }

  const MANY = [aged("a", 5), aged("b", 1), aged("c", 5), aged("d", 3), aged("e", 9)];

  it.each([1, 2, 3, 5])("stores the oldest, then the first by name, of a list in pages of %i", (pageSize) => {
    const store = newStore(2);
    expect(list(store, [...MANY, aged("x", 99, { namespace: "other" })], pageSize)).toBe(true);
    expect(contentOf(store)).toEqual([["other/x", "team/b", "team/d"], ["team/a", "team/c", "team/e"], false]);
    expect(store.refusals()[0]).toEqual({
      place: { file: "ratelimitconfigs/team/a", line: 0, column: 0 },
      field: "",
      message: "namespace team has more than 2 RateLimitConfigs, this is not one of the oldest 2",
      resource: "team/a",
      keepsLastGood: false,
      reason: "TooMany",
    });
    expect(list(store, [...MANY, aged("x", 99, { namespace: "other" })], pageSize)).toBe(false);
  });

  it("leaves out a new object that is the youngest, and the youngest when an older one comes", () => {
    const store = newStore(2);
    list(store, [aged("b", 1), aged("d", 3)]);
    expect(store.put(aged("e", 4))).toBe(true);
    expect(contentOf(store)).toEqual([["team/b", "team/d"], ["team/e"], false]);
    expect([store.put(aged("e", 4, { domain: "other" })), store.put(aged("c", 3))]).toEqual([false, true]);
    expect(contentOf(store)).toEqual([["team/b", "team/c"], ["team/d", "team/e"], false]);
    expect(events.slice(2)).toEqual(["appeared team/c"]);
  });

  it("does not read the rules of a new object that is too many: that would slow down the updates of others", () => {
    const store = newStore(2);
    list(store, MANY);
    const unread = aged("z", 50);
    Object.defineProperty(unread.content, "spec", { get: () => expect.fail("the rules were read") });
    expect(store.put(unread)).toBe(true);
    expect(contentOf(store)[1]).toEqual(["team/a", "team/c", "team/e", "team/z"]);
    store.delete(aged("d", 3));
    expect(store.put(aged("z", 50))).toBe(true);
    expect(contentOf(store)[0]).toEqual(["team/b", "team/z"]);
  });

  it("edits stored objects, and needs a list when one of them goes while others were left out", () => {
    const store = newStore(2);
    list(store, MANY);
    expect(store.put(aged("d", 3, { domain: "new" }))).toBe(true);
    expect(store.delete(aged("e", 9))).toBe(true);
    expect(contentOf(store)).toEqual([["team/b", "team/d"], ["team/a", "team/c"], false]);
    store.delete(aged("b", 1));
    expect(contentOf(store)).toEqual([["team/d"], ["team/a", "team/c"], true]);
    list(store, [aged("a", 5), aged("c", 5), aged("d", 3)]);
    expect(contentOf(store)).toEqual([["team/a", "team/d"], ["team/c"], false]);
    store.delete(aged("c", 5));
    store.delete(aged("a", 5));
    expect(contentOf(store)).toEqual([["team/d"], [], false]);
    store.put(aged("z", 100));
    expect(contentOf(store)).toEqual([["team/d", "team/z"], [], false]);
  });

  it("counts an object that was deleted and created again as a young one", () => {
    const store = newStore(2);
    list(store, MANY);
    list(store, [aged("a", 5), aged("b", 20), aged("d", 3)]);
    expect(contentOf(store)).toEqual([["team/a", "team/d"], ["team/b"], false]);
  });

  it("names the oldest thousand of those that are too many, and lists again when there may be more", () => {
    const store = newStore(2);
    const many = Array.from({ length: 1100 }, (_, index) => aged(`n-${index}`, 2000 - index));
    list(store, many, 250);
    expect(store.list().map(({ key }) => key)).toEqual(["team/n-1098", "team/n-1099"]);
    const named = store.refusals().map(({ resource }) => resource);
    expect([named.length, named[0], named.at(-1)]).toEqual([1000, "team/n-1097", "team/n-98"]);
    for (const each of many.slice(98, 1099)) store.delete(each);
    expect(contentOf(store)).toEqual([["team/n-1099"], [], true]);
  });
});
