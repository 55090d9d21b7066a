// What a readiness probe needs to know, and no more: probes come every few seconds to every
// replica, and a whole report is made of all resources and pods. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import { fleetName } from "../snapshot/publication-log.ts";
import type { Publication } from "../snapshot/publication.ts";

/** Whether the replica is ready, and what it serves. */
export interface Readiness {
  /** Why not; undefined when it is. */
  readonly notReady: string | undefined;
  /** The version in force for each fleet, the one for all others first. */
  readonly fleets: readonly { readonly fleet: string; readonly version: string | undefined }[];
}

/** Reads it off what is in force. */
export function readinessOf(notReady: string | undefined, publication: Publication): Readiness {
  const sorted = [...publication].toSorted(([left], [right]) => compareCodeUnits(left, right));
  return {
    notReady,
    fleets: sorted.map(([fleet, { snapshot }]) => ({ fleet: fleetName(fleet), version: snapshot?.version })),
  };
}
