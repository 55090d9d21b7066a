import { revisionOf } from "@weir/crds/rate-limit-config-revision/revision";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { beforeEach, describe, expect, it } from "vitest";

import { RevisionStore } from "./revision-store.ts";

const OWNER = { namespace: "team", name: "shop", uid: "1" };
const OTHER = { ...OWNER, uid: "2" };
const WHOLE = { isFirst: true, isLast: true };

/** A revision whose spec is a number; a higher one is newer. */
function revision(number: number, owner = OWNER): KubernetesObject {
  const { metadata, ...rest } = revisionOf(owner, number);
  const creationTimestamp = new Date(number * 1000).toISOString();
  const { name, namespace } = metadata;
  const content = { ...rest, metadata: { ...metadata, creationTimestamp } };
  return { name, namespace, uid: `revision ${number}`, resourceVersion: "1", generation: 1, content };
}

describe("RevisionStore", () => {
  let store: RevisionStore;
  const specs = (owner = OWNER) => store.revisionsOf(owner).map(({ content }) => content["spec"]);

  beforeEach(() => {
    store = new RevisionStore(3);
  });

  it("returns the revisions of one object, the newest first, also when an object of the same name has others", () => {
    expect([revision(1), revision(3), revision(2, OTHER)].map((each) => store.put(each))).toEqual([true, true, true]);
    expect([specs(), specs(OTHER), specs({ ...OWNER, namespace: "other" })]).toEqual([[3, 1], [2], []]);
  });

  it("forgets what is deleted, and what a later list does not bring", () => {
    store.take({ objects: [revision(1), revision(2)], ...WHOLE });
    expect(store.delete(revision(1))).toBe(true);
    expect(store.delete(revision(1))).toBe(false);
    expect(specs()).toEqual([2]);
    expect(store.take({ objects: [revision(2)], ...WHOLE })).toBe(false);
    expect(store.take({ objects: [revision(3)], ...WHOLE })).toBe(true);
    expect(specs()).toEqual([3]);
  });

  it("takes pages together when the last one is there", () => {
    store.take({ objects: [revision(1)], isFirst: true, isLast: false });
    expect(specs()).toEqual([]);
    store.take({ objects: [revision(2)], isFirst: false, isLast: true });
    expect(specs()).toEqual([2, 1]);
  });

  it("moves a revision whose owner changes, and leaves out one without a single owner", () => {
    const { content, ...object } = revision(1);
    store.put({ ...object, content });
    const metadata = content["metadata"] as { readonly ownerReferences: readonly [object] };
    const [owner] = metadata.ownerReferences;
    const owned = (...ownerReferences: object[]) =>
      store.put({ ...object, content: { ...content, metadata: { ...metadata, ownerReferences } } });
    expect(owned({ ...owner, uid: "2" })).toBe(true);
    expect([specs(), specs(OTHER)]).toEqual([[], [1]]);
    expect(owned({ ...owner, uid: "1" }, { ...owner, uid: "2" })).toBe(true);
    expect(owned()).toBe(false);
    expect([specs(), specs(OTHER)]).toEqual([[], []]);
  });

  it("stores a bounded number in each namespace", () => {
    const added = [1, 2, 3, 4].map((number) => store.put(revision(number, { ...OWNER, uid: `${number}` })));
    expect(added).toEqual([true, true, true, false]);
    const elsewhere = { ...OWNER, namespace: "other" };
    expect([store.put(revision(5, elsewhere)), specs(elsewhere)]).toEqual([true, [5]]);
  });

  it("stores the newest of each owner", () => {
    store = new RevisionStore();
    for (const number of [5, 2, 1, 4, 3]) store.put(revision(number));
    expect(specs()).toEqual([5, 4, 3, 2]);
    expect(store.put(revision(0))).toBe(false);
  });
});
