// Decides whether a replica may take a Lease. Pure. Clocks of two machines are never compared: a holder has the time
// of its Lease from when this process has seen the last change of it.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";

import { readLease } from "./lease.ts";

/** The last change of the Lease that this process has seen. */
export interface Observation {
  readonly object: KubernetesObject;
  /** When it was seen, by a clock of this process that only goes forward, in milliseconds. */
  readonly seenMs: number;
}

/**
 * The next action: `take` the Lease (or make it), `renew` one's own, or `wait` until its holder has let
 * it expire.
 */
export type Decision = "take" | "renew" | "wait";

/**
 * Notes what was read; undefined: there is no Lease. One that is gone counts as it was seen last: its
 * holder does not know yet that it was deleted.
 */
export function observe(
  before: Observation | undefined,
  object: KubernetesObject | undefined,
  nowMs: number,
): Observation | undefined {
  const isSame = before?.object.uid === object?.uid && before?.object.resourceVersion === object?.resourceVersion;
  return object === undefined || isSame ? before : { object, seenMs: nowMs };
}

/** The decision of `identity`; `durationMs` is the time of a holder that does not say it. */
export function decide(
  observed: Observation | undefined,
  { identity, durationMs, nowMs }: { readonly identity: string; readonly durationMs: number; readonly nowMs: number },
): Decision {
  if (observed === undefined) return "take";
  const lease = readLease(observed.object);
  if (lease.holder === "") return "take";
  if (lease.holder === identity) return "renew";
  return nowMs - observed.seenMs >= (lease.durationMs ?? durationMs) ? "take" : "wait";
}
