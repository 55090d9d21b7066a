// The ServiceAccount of a workload, whose pods do not use the API: they get no token.
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { ownedObject, type Workload } from "./workload.ts";

/** The ServiceAccount. */
export function renderServiceAccount(workload: Workload): WrittenObject {
  return ownedObject(workload, "serviceAccount", { automountServiceAccountToken: false });
}
