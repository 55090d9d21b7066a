// The desired configuration: the resources that are served, and the reasons why others are not.
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import type { RateLimitConfig } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

import type { RefusalReason } from "../errors.ts";
import type { SourceLocation } from "../source/source.ts";

/** A revision of a resource, as it is written and as it is sent. */
export interface ResourceContent {
  readonly manifest: RateLimitConfigResource;
  readonly message: RateLimitConfig;
}

/** A resource that is served. */
export interface AcceptedResource {
  readonly namespace: string;
  readonly name: string;
  /** `<namespace>/<name>`, its name on the wire. */
  readonly key: string;
  /**
   * Equal for all revisions of one resource. A resource that is deleted and created again has another
   * one, and so has one with another domain, where its source permits that: it inherits no revision.
   */
  readonly identity: string;
  /** Creation time, milliseconds since the epoch; 0 when none is known. */
  readonly createdMs: number;
  readonly domain: string;
  /** The fleets it is for, sorted; undefined means every fleet, known or not. */
  readonly fleets: readonly string[] | undefined;
  readonly place: SourceLocation;
  /** True when an older revision is served, because the present one is invalid. */
  readonly isLastGood: boolean;
  /** The current revision. */
  readonly content: ResourceContent;
  /** The last good revisions that the source handed over, the newest first. */
  readonly lastGood: readonly ResourceContent[];
}

/** A resource, document or file that is not served as it is written. */
export interface Refusal {
  readonly reason: RefusalReason;
  /** `<namespace>/<name>`; undefined when that could not be read. */
  readonly resource: string | undefined;
  readonly place: SourceLocation;
  /**
   * For example `spec.descriptors[2].rateLimit.unit`; empty when the whole document or file is
   * meant.
   */
  readonly field: string;
  readonly message: string;
  /** True when an earlier revision is still served. */
  readonly keepsLastGood: boolean;
  /** UID of the object whose revision is invalid; absent when that is the one that was read as a resource. */
  readonly uid?: string;
  /** The generation of that revision. */
  readonly generation?: number;
}

/** Everything that should be served at one moment. */
export interface DesiredConfiguration {
  /** Sorted by key. */
  readonly accepted: readonly AcceptedResource[];
  readonly refusals: readonly Refusal[];
  /** Every fleet that an accepted resource names, sorted. */
  readonly fleets: readonly string[];
}
