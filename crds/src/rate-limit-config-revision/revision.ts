// The RateLimitConfigRevision custom resource: the last revision of a RateLimitConfig that every pod has loaded, as the operator
// writes it and the control plane reads it.
import { createHash } from "node:crypto";

import { KIND } from "../rate-limit-config/schema/schema.ts";
import { API_VERSION } from "../schema/api-version.ts";
import { revisionContent } from "./revision-spec.ts";

/** Kind of the custom resource. */
export const REVISION_KIND = "RateLimitConfigRevision";

/** Its name in URLs and roles. */
export const REVISION_PLURAL = "ratelimitconfigrevisions";

/** Longest name of an object of Kubernetes, in characters. */
const NAME_LENGTH_MAX = 253;

/** Characters of the hash at the end of a name: 80 bits. */
const HASH_LENGTH = 20;

/** A RateLimitConfig, as far as its revisions follow from it. */
export interface RevisionOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * The name of the revision of an owner with a spec: the owner's name, cut if it is long, and a hash of its UID and of the spec. So two
 * revisions of one owner can exist for a moment, an equal spec has an equal name, and an owner that was created again has other names.
 */
export function revisionName({ name, uid }: RevisionOwner, spec: unknown): string {
  const hash = createHash("sha256")
    .update(`${uid} ${canonicalJson(spec)}`)
    .digest("hex")
    .slice(0, HASH_LENGTH);
  // Each part between dots must end with a letter or digit.
  return `${name.slice(0, NAME_LENGTH_MAX - HASH_LENGTH - 1).replace(/[-.]+$/, "")}-${hash}`;
}

/** A revision, as it is written. */
export interface WrittenRevision {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly ownerReferences: readonly Readonly<Record<string, unknown>>[];
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The whole revision, to be created; a large spec is compressed. */
export function revisionOf(owner: RevisionOwner, spec: unknown): WrittenRevision {
  const { namespace, name, uid } = owner;
  return {
    apiVersion: API_VERSION,
    kind: REVISION_KIND,
    metadata: {
      name: revisionName(owner, spec),
      namespace,
      ownerReferences: [{ apiVersion: API_VERSION, kind: KIND, name, uid, controller: true }],
    },
    ...revisionContent(spec),
  };
}

/**
 * The RateLimitConfig in the owner references of a revision's metadata; undefined unless there is exactly one. Its UID says whether it
 * is the one that exists now.
 */
export function ownerOfRevision(metadata: unknown): Pick<RevisionOwner, "name" | "uid"> | undefined {
  if (!isMapping(metadata) || !Array.isArray(metadata["ownerReferences"])) return undefined;
  const owners = (metadata["ownerReferences"] as readonly unknown[])
    .filter(isMapping)
    .filter(({ apiVersion, kind }) => apiVersion === API_VERSION && kind === KIND);
  const [owner] = owners;
  if (owners.length !== 1 || typeof owner?.["name"] !== "string" || typeof owner["uid"] !== "string") return undefined;
  return { name: owner["name"], uid: owner["uid"] };
}

/** JSON with the fields of each mapping in one order: the API server may send them in another one. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isMapping(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
