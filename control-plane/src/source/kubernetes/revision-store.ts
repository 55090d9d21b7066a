// Stores the RateLimitConfigRevisions that one reflector follows, by the object that owns them.
import { ownerOfRevision } from "@weir/crds/rate-limit-config-revision/revision";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { isVersionOlder, type ListedPage } from "@weir/kubernetes/reflector/reflector";
import type { ObjectSink } from "@weir/kubernetes/reflector/reflector-run";

import { NAMESPACE_RESOURCES_MAX } from "../bound-namespaces.ts";
import { createdMsOf } from "./stored-object.ts";

/** Most revisions of one owner that are stored, the newest: the operator keeps one, and two for a moment. */
const OWNER_REVISIONS_MAX = 4;

/** Most revisions of one namespace that are stored; further ones are ignored. */
const NAMESPACE_REVISIONS_MAX = 2 * NAMESPACE_RESOURCES_MAX;

/** Names an object for good: a later one of the same name has another UID. */
export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A revision as far as it is stored. */
interface Revision {
  readonly name: string;
  readonly createdMs: number;
  readonly uid: string;
  /** As it was first seen: creation times count seconds only. */
  readonly resourceVersion: string;
  /** The fields that may have the spec. It may be compressed, and few are ever needed. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** The revisions. A revision without a RateLimitConfig as its only owner is not stored. */
export class RevisionStore implements ObjectSink {
  readonly #namespaceMax: number;
  /** By namespace, the owner of each revision by its name. */
  readonly #owners = new Map<string, Map<string, string>>();
  /** By owner. */
  readonly #revisions = new Map<string, readonly Revision[]>();
  /** The objects that the pages of a list have brought so far. */
  #listing: KubernetesObject[] = [];

  constructor(namespaceMax = NAMESPACE_REVISIONS_MAX) {
    this.#namespaceMax = namespaceMax;
  }

  /**
   * The revisions of an owner, the newest first. Returns the same array as long as they are
   * the same.
   */
  revisionsOf(owner: ObjectIdentity): readonly Revision[] {
    return this.#revisions.get(identities.getOrInsertComputed(owner, identityText)) ?? NONE;
  }

  take({ objects, isFirst, isLast }: ListedPage): boolean {
    if (isFirst) this.#listing = [];
    this.#listing.push(...objects);
    if (!isLast) return false;
    const listed = this.#listing;
    this.#listing = [];
    const names = new Set(listed.map(({ namespace, name }) => `${namespace}/${name}`));
    const gone = [...this.#owners].flatMap(([namespace, owners]) =>
      [...owners.keys()]
        .filter((name) => !names.has(`${namespace}/${name}`))
        .map((name) => this.#remove(namespace, name)),
    );
    return [...gone, ...listed.map((object) => this.put(object))].includes(true);
  }

  put(object: KubernetesObject): boolean {
    const { namespace, name, uid, resourceVersion, content } = object;
    const owner = ownerOfRevision(content["metadata"]);
    const known = this.#find(namespace, name);
    const key = owner && identityText({ namespace, ...owner });
    // The spec is immutable: the rest matters only when another object took the name, or the owner changed.
    if (known?.revision.uid === uid && known.owner === key) return false;
    const isRemoved = known !== undefined && this.#remove(namespace, name);
    const owners = this.#owners.getOrInsertComputed(namespace, () => new Map());
    if (key === undefined || owners.size >= this.#namespaceMax) return isRemoved;
    const { spec, compressedSpec } = content;
    const revision = {
      ...{ name, uid, resourceVersion, createdMs: createdMsOf(object) },
      content: { spec, compressedSpec },
    };
    const all = [...(this.#revisions.get(key) ?? []), revision].toSorted(newestFirst);
    owners.set(name, key);
    this.#revisions.set(key, all.slice(0, OWNER_REVISIONS_MAX));
    for (const oldest of all.slice(OWNER_REVISIONS_MAX)) owners.delete(oldest.name);
    return isRemoved || owners.has(name);
  }

  delete({ namespace, name }: KubernetesObject): boolean {
    return this.#remove(namespace, name);
  }

  needsList(): boolean {
    return false;
  }

  #find(namespace: string, name: string): { readonly owner: string; readonly revision: Revision } | undefined {
    const owner = this.#owners.get(namespace)?.get(name);
    const revision = this.#revisions.get(owner ?? "")?.find((each) => each.name === name);
    return owner === undefined || revision === undefined ? undefined : { owner, revision };
  }

  #remove(namespace: string, name: string): boolean {
    const owners = this.#owners.get(namespace);
    const owner = owners?.get(name);
    if (owners === undefined || owner === undefined) return false;
    owners.delete(name);
    if (owners.size === 0) this.#owners.delete(namespace);
    const left = this.#revisions.get(owner)?.filter((revision) => revision.name !== name) ?? [];
    if (left.length === 0) this.#revisions.delete(owner);
    else this.#revisions.set(owner, left);
    return true;
  }
}

const NONE: readonly Revision[] = [];

/** Of owners that are asked for again and again: to join the parts for each of thousands takes longer. */
const identities = new WeakMap<ObjectIdentity, string>();

/** Names and UIDs of Kubernetes contain no space. */
function identityText({ namespace, name, uid }: ObjectIdentity): string {
  return `${namespace} ${name} ${uid}`;
}

function newestFirst(left: Revision, right: Revision): number {
  if (left.createdMs !== right.createdMs) return right.createdMs - left.createdMs;
  return isVersionOlder(left.resourceVersion, right.resourceVersion) ? 1 : -1;
}
