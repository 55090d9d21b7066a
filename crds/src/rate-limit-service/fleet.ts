// The fleet of a RateLimitService, and the fleets that a namespace may have.
import { createHash } from "node:crypto";

import { FLEET_NAME_LENGTH_MAX } from "../schema/fleet-name.ts";
import type { RateLimitServiceResource } from "./schema/schema.ts";

/** Characters of the hash in a shortened name: 40 bits, so that no two names of a namespace meet by chance. */
const HASH_LENGTH = 10;

/** Longest begin of a name before that hash. */
const BEGIN_LENGTH_MAX = FLEET_NAME_LENGTH_MAX - HASH_LENGTH - 1;

/** Of a shortened namespace: its begin, and its hash of 80 bits, because others could look for a second one. */
const SHORTENED_NAMESPACE = { beginLength: 30, hashLength: 20 } as const;

/**
 * The fleet that the pods of a resource belong to: `spec.fleet`, or `NAMESPACE.NAME`. A name that is
 * too long is cut and ends with a hash of the whole; what is before its dot stays the namespace's own.
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
  const begin = `${shortened(namespace)}.${name}`.slice(0, BEGIN_LENGTH_MAX);
  return `${begin}-${hashOf(whole, HASH_LENGTH)}`;
}

/**
 * Returns true if the pods of a namespace may be of the fleet: one with a dot belongs to the namespace
 * before its first dot, which no name of a namespace contains.
 */
export function mayHaveFleet(namespace: string, fleet: string): boolean {
  const dot = fleet.indexOf(".");
  return dot === -1 || [namespace, shortened(namespace)].includes(fleet.slice(0, dot));
}

/** The namespace as fleets begin with it: itself, or with "_", which no namespace contains. */
function shortened(namespace: string): string {
  if (namespace.length < BEGIN_LENGTH_MAX) return namespace;
  const { beginLength, hashLength } = SHORTENED_NAMESPACE;
  return `${namespace.slice(0, beginLength)}_${hashOf(namespace, hashLength)}`;
}

function hashOf(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
