// The revisions in a cache by the object that owns them: there are as many as RateLimitConfigs.
import { ownerOfRevision } from "@weir/crds/rate-limit-config-revision/revision";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";

import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectIdentity } from "./loaded-revisions.ts";

/** Follows a cache from its construction. */
export class OwnedRevisions {
  /** By owner, then by name. */
  readonly #revisions = new Map<string, Map<string, KubernetesObject>>();

  constructor(cache: Pick<ObjectLookup, "list" | "onChange">) {
    for (const revision of cache.list()) this.#add(revision);
    cache.onChange((before, after) => {
      if (before !== undefined) this.#remove(before);
      if (after !== undefined) this.#add(after);
    });
  }

  /** The revisions of an object, in no order. */
  of(owner: ObjectIdentity): readonly KubernetesObject[] {
    return [...(this.#revisions.get(identityText(owner))?.values() ?? [])];
  }

  #add(revision: KubernetesObject): void {
    const key = ownerKey(revision);
    if (key !== undefined) this.#revisions.getOrInsertComputed(key, () => new Map()).set(revision.name, revision);
  }

  #remove(revision: KubernetesObject): void {
    const key = ownerKey(revision) ?? "";
    const owned = this.#revisions.get(key);
    owned?.delete(revision.name);
    if (owned?.size === 0) this.#revisions.delete(key);
  }
}

function ownerKey({ namespace, content }: KubernetesObject): string | undefined {
  const owner = ownerOfRevision(content["metadata"]);
  return owner && identityText({ namespace, ...owner });
}

/** Names and UIDs of Kubernetes contain no space. */
function identityText({ namespace, name, uid }: ObjectIdentity): string {
  return `${namespace} ${name} ${uid}`;
}
