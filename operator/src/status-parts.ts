// The parts that write statuses of RateLimitConfigs: the reports of the control plane's replicas, the
// controller, and events.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { readTlsMaterial } from "@weir/common/tls/tls-material";
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";

import type { EventRecorder } from "./events/event-recorder.ts";
import type { ClusterCaches } from "./reconcile/cluster-caches.ts";
import type { ObjectLookup } from "./reconcile/object-cache.ts";
import { Controller, type ControllerDeps } from "./reconcile/controller.ts";
import { ENDPOINT_SLICES } from "./reports/replica-endpoints.ts";
import { ReportWatch, type ReportWatchDeps } from "./reports/report-watch.ts";
import { LabelledNamespaces, NAMESPACES } from "./scope/labelled-namespaces.ts";
import type { Settings } from "./settings.ts";
import { RATE_LIMIT_CONFIGS, StatusReconciler } from "./status/status-reconciler.ts";

export interface StatusPartDeps
  extends Pick<ControllerDeps, "log" | "monotonicMs" | "random" | "metrics">, Pick<ReportWatchDeps, "readyPods"> {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly objects: Pick<ObjectWriter, "apply">;
  readonly caches: Pick<ClusterCaches, "follow">;
  readonly events: Pick<EventRecorder, "record">;
  readonly settings: Pick<Settings, "namespace" | "namespaces" | "namespaceSelector" | "reconcile"> & {
    readonly controlPlane: Pick<Settings["controlPlane"], "service" | "portName" | "tls">;
  };
}

/** The parts of the leader that write statuses, and what others read too. */
export interface StatusParts {
  /** In the order of their start. */
  readonly leading: readonly Part[];
  /** The RateLimitConfigs. */
  readonly configs: ObjectLookup;
  /** Follows the control plane while this replica is the leader. */
  readonly watch: ReportWatch;
}

/** Makes the parts. */
export function createStatusParts(deps: StatusPartDeps): StatusParts {
  const { log, clock, monotonicMs, random, objects, caches, settings, metrics, events, readyPods } = deps;
  const { service, portName, tls: paths } = settings.controlPlane;
  const { namespace } = settings;
  const configs = caches.follow(RATE_LIMIT_CONFIGS, {
    namespaces: settings.namespaces,
    isWithoutManagers: true,
  });
  const slices = caches.follow(ENDPOINT_SLICES, {
    namespaces: [namespace],
    labelSelector: `kubernetes.io/service-name=${service}`,
  });
  const tls = paths && (() => readTlsMaterial(paths));
  // The name in the certificates of all replicas: they are reached by their addresses.
  const serverName = `${service}.${namespace}.svc`;
  const watch = new ReportWatch(
    { log, monotonicMs, random, slices, readyPods },
    { namespace, service, portName, serverName, tls },
  );
  const reports = (): ReturnType<ReportWatch["reports"]> => watch.reports();
  const statuses = new StatusReconciler({ clock, monotonicMs, objects, events, configs, reports });
  const { namespaceSelector: selector } = settings;
  const labelled = selector === undefined ? undefined : caches.follow(NAMESPACES, { labelSelector: selector });
  const reconciler =
    selector === undefined || labelled === undefined
      ? statuses
      : new LabelledNamespaces({ clock, objects, configs, namespaces: labelled, selector, reconciler: statuses });
  const controller = new Controller({ log, monotonicMs, random, reconciler, metrics }, configs, settings.reconcile);
  // A label that a Namespace gets or loses concerns all that is in it.
  if (labelled !== undefined) controller.follow(labelled, ({ name }) => configs.list(name));
  reconcileReported(watch, controller);
  return { leading: [watch, statuses, controller], configs, watch };
}

/** Lets a controller of RateLimitConfigs reconcile those of which something else is reported. */
export function reconcileReported(watch: Pick<ReportWatch, "onChange">, controller: Controller): void {
  watch.onChange((keys) => {
    if (keys === undefined) controller.addAll();
    else for (const key of keys) controller.add(keyOf(key));
  });
}

function keyOf(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = "", name = ""] = text.split("/");
  return { namespace, name };
}
