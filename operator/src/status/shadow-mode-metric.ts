// The gauge of RateLimitConfigs in shadow mode, for an alert about a switch that was forgotten. The number of series is
// bounded: resources beyond it share one.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { fieldsOf } from "@weir/kubernetes/mapping";
import { Gauge, type Registry } from "prom-client";

import type { ObjectLookup } from "../reconcile/object-cache.ts";

/** Most resources with their own series. */
const RESOURCES_MAX = 100;

/** The labels of all others; no name of an object has parentheses. */
const FURTHER = ["(further)", "(further)"] as const;

/** Adds the gauge to a registry; it reads the cache at each scrape. */
export function observeShadowMode(registry: Registry, configs: Pick<ObjectLookup, "list">): void {
  new Gauge({
    name: "weir_shadow_mode_resources",
    help: "RateLimitConfigs whose spec.shadowMode is true, so that they limit nothing, by namespace and name; none has no series.",
    labelNames: ["resource_namespace", "resource"],
    registers: [registry],
    collect() {
      this.reset();
      configs
        .list()
        .filter(({ content }) => fieldsOf(content["spec"])["shadowMode"] === true)
        .toSorted((one, other) => compareCodeUnits(`${one.namespace}/${one.name}`, `${other.namespace}/${other.name}`))
        .forEach(({ namespace, name }, index) =>
          this.labels(...(index < RESOURCES_MAX ? [namespace, name] : FURTHER)).inc(),
        );
    },
  });
}
