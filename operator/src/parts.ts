// The parts that do the operator's work, in the order of the flow: what they read, and whether they
// run on every replica or on the leader only.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";
import type { Registry } from "prom-client";

import type { ClusterCaches } from "./reconcile/cluster-caches.ts";
import type { Settings } from "./settings.ts";

/** What parts are made from. */
export interface PartDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly registry: Registry;
  /** Reads on every replica, and writes on the leader only. */
  readonly objects: ObjectWriter & Pick<ObjectClient, "get">;
  /** For the kinds that they read. */
  readonly caches: Pick<ClusterCaches, "follow">;
  readonly settings: Settings;
}

/** The parts of one process. */
export interface OperatorParts {
  /** Started on every replica, before the caches. */
  readonly everywhere: readonly Part[];
  /**
   * Started when this replica becomes the leader, and stopped when it is not any more; again each
   * time.
   */
  readonly leading: readonly Part[];
}

/** Makes the parts. They send nothing before they are started. */
export function createParts(_deps: PartDeps): OperatorParts {
  return { everywhere: [], leading: [] };
}
