// The fleet of a RateLimitService.
import { createHash } from "node:crypto";

import { FLEET_NAME_LENGTH_MAX } from "../schema/fleet-name.ts";
import type { RateLimitServiceResource } from "./schema/schema.ts";

/** Characters of the hash in a shortened name: 40 bits, so that no two names meet by chance. */
const HASH_LENGTH = 10;

/**
 * The fleet that the pods of a resource belong to: `spec.fleet`, or `NAMESPACE.NAME`. A name that is
 * too long is cut and ends with a hash of the whole.
 */
export function fleetOf(resource: {
  readonly metadata: Pick<RateLimitServiceResource["metadata"], "namespace" | "name">;
  readonly spec: Pick<RateLimitServiceResource["spec"], "fleet">;
}): string {
  const { namespace = "default", name } = resource.metadata;
  const { fleet } = resource.spec;
  if (fleet !== undefined) return fleet;
  const whole = `${namespace}.${name}`;
  if (whole.length <= FLEET_NAME_LENGTH_MAX) return whole;
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, HASH_LENGTH);
  return `${whole.slice(0, FLEET_NAME_LENGTH_MAX - HASH_LENGTH - 1)}-${hash}`;
}
