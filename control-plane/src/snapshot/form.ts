// The forms of resources: each is one content, serialised once for all fleets and streams.
import { createHash } from "node:crypto";

import type { RateLimitConfig } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

import type { AcceptedResource } from "../assemble/desired-configuration.ts";
import { encodeResource } from "./response-bytes.ts";

/** Hexadecimal characters of a digest: 128 bits, so that no two contents have the same one. */
const DIGEST_LENGTH = 32;

/** One content of a resource. */
export interface Form {
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
  /** Newer forms of a resource have a higher number. */
  readonly sequence: number;
}

/** Serialises resources, each content once. */
export class Forms {
  /** A message stays the same object until its manifest changes. */
  readonly #known = new WeakMap<RateLimitConfig, Form>();
  #sequence = 0;

  /** The present form of a resource. */
  present(resource: AcceptedResource): Form {
    return this.#formOf(resource, resource.message);
  }

  /** The last good form that the source handed over. */
  lastGood(resource: AcceptedResource): Form | undefined {
    return resource.lastGood === undefined ? undefined : this.#formOf(resource, resource.lastGood);
  }

  #formOf(resource: AcceptedResource, message: RateLimitConfig): Form {
    const { key: name, namespace, identity, createdMs, domain } = resource;
    const known = this.#known.get(message);
    if (known?.name === name && known.identity === identity) return known;
    const bytes = encodeResource(message);
    // A handed over form is older than everything that this process has published.
    const sequence = message === resource.lastGood ? 0 : (this.#sequence += 1);
    const form = { name, namespace, identity, createdMs, domain, bytes, digest: digestOf(bytes), sequence };
    this.#known.set(message, form);
    return form;
  }
}

/** The hash of a content. */
export function digestOf(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, DIGEST_LENGTH);
}
