import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";

import { observeResources } from "./resource-metrics.ts";

function resource(name: string, spec: object, status?: object): KubernetesObject {
  return { namespace: "shop", name, uid: name, resourceVersion: "1", generation: 1, content: { spec, status } };
}

function ready(status: string, reason: string): object {
  return { conditions: [{ type: "Ready", status, reason }] };
}

const CONFIG_IS_READY = ready("True", "Programmed");

/** The series of a scrape whose names begin so. */
async function scrape(
  name: string,
  objects: { readonly configs?: readonly KubernetesObject[]; readonly services?: readonly KubernetesObject[] },
): Promise<readonly string[]> {
  const registry = new Registry();
  const { configs = [], services = [] } = objects;
  observeResources(registry, { configs: { list: () => configs }, services: { list: () => services } });
  return (await registry.metrics()).split("\n").filter((line) => line.startsWith(`${name}{`));
}

describe("observeResources()", () => {
  it("has no series of anything when there is nothing to say", async () => {
    expect(await scrape("weir_shadow_mode_resources", { configs: [resource("b", { shadowMode: false })] })).toEqual([]);
    expect(
      await scrape("weir_rate_limit_configs_not_ready", { configs: [resource("a", {}, CONFIG_IS_READY)] }),
    ).toEqual([]);
    const services = [resource("a", { replicas: 0 })];
    expect(await scrape("weir_rate_limit_services_not_ready", { services })).toEqual([]);
    expect(await scrape("weir_rate_limit_service_ready_pods", { services })).toEqual([]);
  });

  it("names RateLimitConfigs in shadow mode, and counts those beyond a hundred together", async () => {
    const configs = [resource("a", { shadowMode: true, domain: "mail" }), resource("c", {})];
    expect(await scrape("weir_shadow_mode_resources", { configs })).toEqual([
      'weir_shadow_mode_resources{resource_namespace="shop",resource="a",domain="mail"} 1',
    ]);
    const many = Array.from({ length: 102 }, (_, index) => resource(`r${index}`, { shadowMode: true }));
    const series = await scrape("weir_shadow_mode_resources", { configs: many });
    expect(series.length).toBe(101);
    expect(series.at(-1)).toBe(
      'weir_shadow_mode_resources{resource_namespace="(further)",resource="(further)",domain="(further)"} 2',
    );
  });

  it("names RateLimitConfigs that are not Ready, with domain and reason", async () => {
    const configs = [
      resource("new", { domain: "mail" }),
      resource("bad", { domain: "shop" }, ready("False", "InvalidSpec")),
      resource("silent", { domain: "web" }, ready("Unknown", "ReplicaSilent")),
      resource("good", { domain: "good" }, CONFIG_IS_READY),
    ];
    expect(await scrape("weir_rate_limit_configs_not_ready", { configs })).toEqual([
      'weir_rate_limit_configs_not_ready{resource_namespace="shop",resource="bad",domain="shop",reason="InvalidSpec"} 1',
      'weir_rate_limit_configs_not_ready{resource_namespace="shop",resource="new",domain="mail",reason="Pending"} 1',
      'weir_rate_limit_configs_not_ready{resource_namespace="shop",resource="silent",domain="web",reason="ReplicaSilent"} 1',
    ]);
  });

  it("names RateLimitServices that are not Ready, and counts their ready pods", async () => {
    const services = [
      resource("core", {}, { ...ready("True", "Ready"), readyReplicas: 3 }),
      resource("edge", { statistics: { podMonitor: { enabled: false } } }, ready("False", "RolloutStuck")),
    ];
    expect(await scrape("weir_rate_limit_services_not_ready", { services })).toEqual([
      'weir_rate_limit_services_not_ready{resource_namespace="shop",resource="edge",reason="RolloutStuck"} 1',
    ]);
    expect(await scrape("weir_rate_limit_service_ready_pods", { services })).toEqual([
      'weir_rate_limit_service_ready_pods{resource_namespace="shop",resource="core",pod_monitor="true"} 3',
      'weir_rate_limit_service_ready_pods{resource_namespace="shop",resource="edge",pod_monitor="false"} 0',
    ]);
  });
});
