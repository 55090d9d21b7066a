// The parts that do the operator's work, in the order of the flow: what they read, and whether they
// run on every replica or on the leader only.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { readTlsMaterial } from "@weir/common/tls/tls-material";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";
import type { Registry } from "prom-client";

import { EventRecorder } from "./events/event-recorder.ts";
import type { ClusterCaches } from "./reconcile/cluster-caches.ts";
import { Controller } from "./reconcile/controller.ts";
import { ControllerMetricsSet } from "./reconcile/controller-metrics.ts";
import type { ObjectLookup } from "./reconcile/object-cache.ts";
import { ENDPOINT_SLICES } from "./reports/replica-endpoints.ts";
import { ReportWatch } from "./reports/report-watch.ts";
import type { Settings } from "./settings.ts";
import { RATE_LIMIT_CONFIGS, StatusReconciler } from "./status/status-reconciler.ts";

/** What parts are made from. */
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
  readonly objects: ObjectWriter & Pick<ObjectClient, "get">;
  /** For the kinds that they read. */
  readonly caches: Pick<ClusterCaches, "follow">;
  /** Name of this process, such as that of its pod. */
  readonly instance: string;
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
export function createParts(deps: PartDeps): OperatorParts {
  const { log, clock, objects, caches, instance, settings } = deps;
  const events = new EventRecorder({ log, clock, objects, instance });
  const configs = caches.follow(RATE_LIMIT_CONFIGS, { namespaces: settings.namespaces });
  const reports = createReportWatch(deps);
  const statuses = new StatusReconciler({ clock, objects, events, configs, reports: () => reports.reports() });
  const metrics = new ControllerMetricsSet(deps.registry);
  const statusController = new Controller({ ...deps, reconciler: statuses, metrics }, configs, settings.reconcile);
  addReported(statusController, reports, configs);
  return { everywhere: [], leading: [events, reports, statusController] };
}

/** The reports of the control plane's replicas. */
function createReportWatch({ log, clock, random, caches, settings }: PartDeps): ReportWatch {
  const { namespace, controlPlane } = settings;
  const { service, portName, tls } = controlPlane;
  const slices = caches.follow(ENDPOINT_SLICES, {
    namespaces: [namespace],
    labelSelector: `kubernetes.io/service-name=${service}`,
  });
  return new ReportWatch(
    {
      log,
      clock,
      random,
      slices: { list: () => slices.list(), onChange: (listener) => slices.onChange(() => listener()) },
    },
    {
      namespace,
      service,
      portName,
      serverName: `${service}.${namespace}.svc`,
      // Files that the operator makes itself are mounted after its start.
      tls: tls === undefined ? undefined : () => readTlsMaterial(tls),
    },
  );
}

/** Looks at the resources of which the replicas report something else. */
function addReported(controller: Controller, reports: ReportWatch, configs: ObjectLookup): void {
  reports.onChange((keys) => {
    if (keys === undefined) controller.addAll();
    else
      for (const config of configs.list()) if (keys.has(`${config.namespace}/${config.name}`)) controller.add(config);
  });
}
