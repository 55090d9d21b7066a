import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { beforeEach, describe, expect, it } from "vitest";

import { ObjectCache } from "./object-cache.ts";

function objectOf(name: string, resourceVersion: string, uid = name): KubernetesObject {
  return { name, namespace: "team", uid, resourceVersion, generation: 1, content: {} };
}

const key = (name: string) => ({ namespace: "team", name });
const WHOLE = { isFirst: true, isLast: true };

describe("ObjectCache", () => {
  let cache: ObjectCache;
  let changes: string[];

  beforeEach(() => {
    cache = new ObjectCache();
    changes = [];
    cache.onChange((before, after) => {
      changes.push(`${before?.resourceVersion ?? "-"} ${after?.resourceVersion ?? "-"}`);
    });
  });

  it("stores what a list brings when it is complete", () => {
    cache.take({ objects: [objectOf("a", "1")], isFirst: true, isLast: false });
    expect([cache.get(key("a")), changes]).toEqual([undefined, []]);
    expect(cache.take({ objects: [objectOf("b", "2")], isFirst: false, isLast: true })).toBe(true);
    expect(cache.list("team").map(({ name }) => name)).toEqual(["a", "b"]);
    expect([cache.list("other"), changes]).toEqual([[], ["- 1", "- 2"]]);
  });

  it("forgets what a later list does not bring", () => {
    cache.take({ objects: [objectOf("a", "1"), objectOf("b", "2")], ...WHOLE });
    changes.length = 0;
    expect(cache.take({ objects: [objectOf("b", "2")], ...WHOLE })).toBe(true);
    expect([cache.get(key("a")), changes]).toEqual([undefined, ["1 -"]]);
    expect(cache.take({ objects: [objectOf("b", "2")], ...WHOLE })).toBe(false);
  });

  it("forgets everything when the cluster does not know the kind any more", () => {
    cache.take({ objects: [objectOf("a", "1")], ...WHOLE });
    cache.take({ objects: [objectOf("b", "2")], isFirst: true, isLast: false });
    changes.length = 0;
    cache.kindIsMissing();
    expect([cache.list(), cache.isListed(), changes]).toEqual([[], false, ["1 -"]]);
  });

  it("says how an object changed, once", () => {
    cache.put(objectOf("a", "1"));
    expect(cache.put(objectOf("a", "1"))).toBe(false);
    cache.put(objectOf("a", "2"));
    cache.delete(objectOf("a", "3"));
    expect(cache.delete(objectOf("a", "3"))).toBe(false);
    expect(changes).toEqual(["- 1", "1 2", "2 -"]);
  });

  it("drops the managers of fields, and nothing else, when it is without managers", () => {
    const metadata = { name: "a", labels: { team: "shop" }, managedFields: [{ manager: "kubectl" }] };
    const object = { ...objectOf("a", "1"), content: { metadata, spec: { domain: "a" } } };
    const lean = new ObjectCache({ isWithoutManagers: true });
    for (const each of [cache, lean]) each.put(object);
    expect(cache.get(key("a"))).toBe(object);
    expect(lean.get(key("a"))).toEqual({
      ...object,
      content: { metadata: { name: "a", labels: { team: "shop" } }, spec: { domain: "a" } },
    });
    lean.take({ objects: [{ ...object, resourceVersion: "2" }], ...WHOLE });
    expect(lean.get(key("a"))?.content["metadata"]).toEqual({ name: "a", labels: { team: "shop" } });
  });

  it("takes an object of the same name for another one", () => {
    cache.put(objectOf("a", "1", "first"));
    expect(cache.put(objectOf("a", "1", "second"))).toBe(true);
    expect(cache.get(key("a"))?.uid).toBe("second");
  });
});
