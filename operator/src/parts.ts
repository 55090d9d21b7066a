// The parts that do the operator's work, in the order of the flow: what they read, and whether they
// run on every replica or on the leader only.
import { hostname } from "node:os";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";
import type { Registry } from "prom-client";

import { createCertificatePart } from "./certificate-part.ts";
import { createDataPlaneParts } from "./data-plane-part.ts";
import { EventRecorder } from "./events/event-recorder.ts";
import { WriteOrder } from "./leader/write-order.ts";
import type { ClusterCaches } from "./reconcile/cluster-caches.ts";
import { ControllerMetricsSet } from "./reconcile/controller-metrics.ts";
import { createRevisionController } from "./revision-part.ts";
import { createScopePart } from "./scope-part.ts";
import type { Settings } from "./settings.ts";
import { createStatusParts } from "./status-parts.ts";
import { observeResources } from "./status/resource-metrics.ts";
import { WebhookMetrics } from "./webhook/webhook-metrics.ts";
import { WEBHOOK_PATH, WebhookServer } from "./webhook/webhook-server.ts";
import { RATE_LIMIT_SERVICES } from "./workload/objects/owned-kinds.ts";
import { FleetPods } from "./workload/ready-pods.ts";
import { followPods } from "./workload/workload-controller.ts";

export interface PartDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly registry: Registry;
  /** Reads on every replica, and writes on the leader only. */
  readonly objects: ObjectWriter & Pick<ObjectClient, "get" | "list">;
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
export function createParts({ registry, ...common }: PartDeps): OperatorParts {
  const { log, clock, caches, settings } = common;
  const { namespaces, certificates } = settings;
  const metrics = new ControllerMetricsSet(registry);
  // People wait for statuses.
  const { first, later } = new WriteOrder(common.objects, common.monotonicMs);
  const events = new EventRecorder({ ...common, objects: later, instance: hostname() });
  const deps = { ...common, metrics, events };
  const services = caches.follow(RATE_LIMIT_SERVICES, { namespaces });
  const pods = followPods(caches, { namespaces });
  const status = createStatusParts({ ...deps, objects: first, readyPods: new FleetPods({ services, pods }) });
  const { configs, watch } = status;
  observeResources(registry, { configs, services });
  const hasPods = (fleet: string): boolean | undefined => {
    const { pods: known, isComplete } = watch.reports();
    const isKnown = known !== undefined && [...known.values()].includes(fleet);
    return isKnown || isComplete ? isKnown : undefined;
  };
  const certificate = certificates === "operator" ? createCertificatePart(deps, services) : undefined;
  const { webhook } = settings;
  const context = { clock, configs, services, hasPods };
  const webhookMetrics = new WebhookMetrics({ ...common, registry }, WEBHOOK_PATH);
  return {
    everywhere: webhook === undefined ? [] : [new WebhookServer({ log, context, metrics: webhookMetrics }, webhook)],
    leading: [
      events,
      ...(certificate === undefined ? [] : [certificate.part]),
      ...status.leading,
      createRevisionController({ ...deps, objects: later }, status),
      ...createDataPlaneParts(
        { ...deps, foreignSecrets: certificate?.foreignSecrets ?? new Set() },
        { services, pods, watch },
      ),
      createScopePart(deps, [configs, services]),
    ],
  };
}
