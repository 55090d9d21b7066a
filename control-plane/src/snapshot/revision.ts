// The revisions of resources: each is one content, serialised once for all fleets and streams.
import { createHash } from "node:crypto";

import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";

import type { AcceptedResource, ResourceContent } from "../translate/desired-configuration.ts";
import { encodeResource } from "./response-bytes.ts";

/** Hexadecimal characters of a digest: 128 bits, so that no two contents have the same one. */
const DIGEST_LENGTH = 32;

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
  #sequence = 0;

  current(resource: AcceptedResource): Revision {
    return this.#revisionOf(resource, resource.content, () => (this.#sequence += 1));
  }

  /** The revisions that the source handed over, the newest first: older than all that was published here. */
  lastGood(resource: AcceptedResource): readonly Revision[] {
    return resource.lastGood.map((content, index) => this.#revisionOf(resource, content, () => -index));
  }

  #revisionOf(resource: AcceptedResource, content: ResourceContent, nextSequence: () => number): Revision {
    return this.#known.getOrInsertComputed(content, ({ message, manifest }) => {
      const { key: name, namespace, identity, createdMs, domain } = resource;
      const bytes = encodeResource(message);
      const digest = digestOf(bytes);
      return { name, namespace, identity, createdMs, domain, bytes, digest, sequence: nextSequence(), manifest };
    });
  }
}

/** The hash of a content. */
export function digestOf(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, DIGEST_LENGTH);
}
