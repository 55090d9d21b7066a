import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";

import { observeShadowMode } from "./shadow-mode-metric.ts";

function config(name: string, spec: object): KubernetesObject {
  return { namespace: "shop", name, uid: name, resourceVersion: "1", generation: 1, content: { spec } };
}

describe("observeShadowMode()", () => {
  it("counts resources in shadow mode by name at each scrape, and those beyond a hundred together", async () => {
    const registry = new Registry();
    let list: readonly KubernetesObject[] = [];
    observeShadowMode(registry, { list: () => list });
    const series = async (): Promise<readonly string[]> =>
      (await registry.metrics()).split("\n").filter((line) => line.startsWith("weir_"));
    expect(await series()).toEqual([]);
    list = [config("a", { shadowMode: true }), config("b", { shadowMode: false }), config("c", {})];
    expect(await series()).toEqual(['weir_shadow_mode_resources{resource_namespace="shop",resource="a"} 1']);
    list = Array.from({ length: 102 }, (_, index) => config(`r${index}`, { shadowMode: true }));
    expect((await series()).length).toBe(101);
    expect((await series()).at(-1)).toBe(
      'weir_shadow_mode_resources{resource_namespace="(further)",resource="(further)"} 2',
    );
    list = [];
    expect(await series()).toEqual([]);
  });
});
