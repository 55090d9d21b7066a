// Gauges of resources by namespace and name, for alerts that reach their owners. The number of series is bounded:
// resources beyond it share one.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { Gauge, type Registry } from "prom-client";

import type { ObjectLookup } from "../reconcile/object-cache.ts";

/** Most resources of a metric with their own series. */
const RESOURCES_MAX = 100;

/** The labels of all others; no name of an object has parentheses. */
const FURTHER = "(further)";

/** Resources that have a series. */
interface Observed {
  readonly name: string;
  readonly help: string;
  /** Labels in addition to namespace and name. */
  readonly labels?: readonly string[];
  /** The number of a resource and the values of its further labels; undefined: it has no series. */
  readonly read: (object: KubernetesObject) => readonly [value: number, ...labels: string[]] | undefined;
}

/** Adds the gauges to a registry; they read the caches at each scrape. */
export function observeResources(
  registry: Registry,
  { configs, services }: Readonly<Record<"configs" | "services", Pick<ObjectLookup, "list">>>,
): void {
  observe(registry, configs, {
    name: "weir_shadow_mode_resources",
    help: "1 for RateLimitConfigs whose spec.shadowMode is true, so that they limit nothing, by namespace and name; none has no series.",
    labels: ["domain"],
    read: (config) => (specOf(config)["shadowMode"] === true ? [1, domainOf(config)] : undefined),
  });
  observe(registry, configs, {
    name: "weir_rate_limit_configs_not_ready",
    help: "1 for RateLimitConfigs that are not Ready, by namespace, name, domain and the reason of the condition.",
    labels: ["domain", "reason"],
    read: (config) => notReady(config, domainOf(config)),
  });
  observe(registry, services, {
    name: "weir_rate_limit_services_not_ready",
    help: "1 for RateLimitServices that want pods and are not Ready, by namespace, name and the reason of the condition.",
    labels: ["reason"],
    read: (service) => (isWithoutPods(service) ? undefined : notReady(service)),
  });
  observe(registry, services, {
    name: "weir_rate_limit_service_ready_pods",
    help: "Ready pods of RateLimitServices that want any, by namespace and name, and whether there is a PodMonitor for them.",
    labels: ["pod_monitor"],
    read: (service) => {
      if (isWithoutPods(service)) return undefined;
      const ready = fieldsOf(service.content["status"])["readyReplicas"];
      const isMonitored = fieldsOf(fieldsOf(specOf(service)["statistics"])["podMonitor"])["enabled"] !== false;
      return [typeof ready === "number" ? ready : 0, String(isMonitored)];
    },
  });
}

function observe(
  registry: Registry,
  objects: Pick<ObjectLookup, "list">,
  { name, help, labels = [], read }: Observed,
): void {
  const labelNames = ["resource_namespace", "resource", ...labels];
  const further = labelNames.map(() => FURTHER);
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      objects
        .list()
        .map((object) => ({ object, sample: read(object) }))
        .filter(({ sample }) => sample !== undefined)
        .toSorted((one, other) => compareCodeUnits(pathOf(one.object), pathOf(other.object)))
        .forEach(({ object: { namespace, name: resource }, sample: [value, ...more] = [0] }, index) =>
          this.labels(...(index < RESOURCES_MAX ? [namespace, resource, ...more] : further)).inc(value),
        );
    },
  });
}

/** A series of a resource whose condition Ready is not True. */
function notReady({ content }: KubernetesObject, ...labels: readonly string[]): [number, ...string[]] | undefined {
  const ready = mappingsOf(fieldsOf(content["status"])["conditions"]).find(({ type }) => type === "Ready");
  return ready?.["status"] === "True" ? undefined : [1, ...labels, textOf(ready?.["reason"]) ?? "Pending"];
}

/** Returns true if a RateLimitService wants no pods. */
function isWithoutPods(service: KubernetesObject): boolean {
  return specOf(service)["replicas"] === 0;
}

function pathOf({ namespace, name }: KubernetesObject): string {
  return `${namespace}/${name}`;
}

function specOf({ content }: KubernetesObject): Mapping {
  return fieldsOf(content["spec"]);
}

function domainOf(config: KubernetesObject): string {
  return textOf(specOf(config)["domain"]) ?? "";
}
