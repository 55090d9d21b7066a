// All objects of a workload, each with a checksum by which the operator sees that it must be written again.
import { createHash } from "node:crypto";

import { fieldsOf } from "@weir/kubernetes/mapping";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { renderAutoscaler } from "./autoscaler.ts";
import { renderDeployment } from "./deployment.ts";
import { renderDisruptionBudget } from "./disruption-budget.ts";
import { renderNetworkPolicy } from "./network-policy.ts";
import { OWNED_KIND_NAMES, type OwnedKindName } from "./owned-kinds.ts";
import { renderPodMonitor } from "./pod-monitor.ts";
import { renderServiceAccount } from "./service-account.ts";
import { renderHeadlessService, renderService } from "./service.ts";
import type { Workload } from "./workload.ts";

/** Annotation with the checksum of what the operator has applied. */
const RENDERED_ANNOTATION = "ratelimit.weir.dev/rendered";

/** The renderer of each kind; undefined means that the object must not exist. */
const RENDERERS: Readonly<Record<OwnedKindName, (workload: Workload) => WrittenObject | undefined>> = {
  serviceAccount: renderServiceAccount,
  service: renderService,
  headlessService: renderHeadlessService,
  networkPolicy: renderNetworkPolicy,
  disruptionBudget: renderDisruptionBudget,
  deployment: renderDeployment,
  autoscaler: renderAutoscaler,
  podMonitor: renderPodMonitor,
};

/** The object of one kind that should be there. */
export interface RenderedObject {
  readonly kind: OwnedKindName;
  /** Undefined: nothing. */
  readonly object: WrittenObject | undefined;
}

/** The objects of a workload, in the order in which they are written. */
export function renderWorkload(workload: Workload): readonly RenderedObject[] {
  return OWNED_KIND_NAMES.map((kind) => {
    const object = RENDERERS[kind](workload);
    return { kind, object: object && withChecksum(object) };
  });
}

/** The object as JSON has it, so without undefined fields, and with its checksum. */
function withChecksum(rendered: WrittenObject): WrittenObject {
  const text = JSON.stringify(rendered);
  const object = JSON.parse(text) as WrittenObject;
  const checksum = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { ...fieldsOf(object.metadata["annotations"]), [RENDERED_ANNOTATION]: checksum },
    },
  };
}
