// The revisions of resources: each is one content, serialised once for all fleets and streams.
import { API_VERSION, KIND, type RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { contentHash } from "@weir/proto/grpc/set-version";

import type { AcceptedResource, ResourceContent } from "../translate/desired-configuration.ts";
import { encodeResource } from "./response-bytes.ts";

/** Of a revision whose content is not known. No resource has such an identity. */
const FOREIGN_IDENTITY = "";

const FOREIGN_MANIFEST: RateLimitConfigResource = {
  apiVersion: API_VERSION,
  kind: KIND,
  metadata: { name: "" },
  spec: { domain: "" },
};

const NONE: readonly Revision[] = [];
const NO_BYTES = Buffer.alloc(0);

/** One content of a resource. */
export interface Revision {
  /** `<namespace>/<name>`. */
  readonly name: string;
  readonly namespace: string;
  /** As {@link AcceptedResource.identity}. */
  readonly identity: string;
  readonly createdMs: number;
  readonly domain: string;
  /** The resource as a field of a response. Must not be changed. */
  readonly bytes: Buffer;
  /** Hash of the bytes. */
  readonly digest: string;
  /** Newer revisions of a resource have a higher number; handed over ones are not above 0. */
  readonly sequence: number;
  readonly manifest: RateLimitConfigResource;
}

/** Serialises resources, each content once. */
export class Revisions {
  /** A content stays the same object until its manifest changes. */
  readonly #known = new WeakMap<ResourceContent, Revision>();
  readonly #lastGood = new WeakMap<AcceptedResource, readonly Revision[]>();
  #sequence = 0;

  current(resource: AcceptedResource): Revision {
    return this.#known.get(resource.content) ?? this.#serialise(resource, resource.content, (this.#sequence += 1));
  }

  /** The revisions that the source handed over, the newest first: older than all that was published here. */
  lastGood(resource: AcceptedResource): readonly Revision[] {
    if (resource.lastGood.length === 0) return NONE; // As a rule: one list for thousands.
    return this.#lastGood.getOrInsertComputed(resource, ({ lastGood }) =>
      lastGood.map((content, index) => this.#known.get(content) ?? this.#serialise(resource, content, -index)),
    );
  }

  #serialise(resource: AcceptedResource, content: ResourceContent, sequence: number): Revision {
    const { key: name, namespace, identity, createdMs, domain } = resource;
    const { message, manifest } = content;
    const bytes = encodeResource(message);
    const digest = contentHash(bytes);
    const revision = { name, namespace, identity, createdMs, domain, bytes, digest, sequence, manifest };
    this.#known.set(content, revision);
    return revision;
  }
}

/** A revision that a pod holds and this replica does not know: the pod can keep it, and it can be sent to no other. */
export function foreignRevision(name: string, digest: string): Revision {
  const [namespace = ""] = name.split("/", 1);
  return {
    name,
    namespace,
    identity: FOREIGN_IDENTITY,
    createdMs: 0,
    domain: "",
    bytes: NO_BYTES,
    digest,
    sequence: -Infinity,
    manifest: FOREIGN_MANIFEST,
  };
}

/** Returns true if a revision is one of {@link foreignRevision}. */
export function isForeign({ identity }: Revision): boolean {
  return identity === FOREIGN_IDENTITY;
}
