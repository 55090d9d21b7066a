// Tests of kubernetes-source.ts on a real API server: the behaviour of every source, and what only
// clusters do.
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import { describeSource, keysOf, limitOf, watchSource, type WatchedSource } from "../source.suite.ts";
import { resourceKey } from "../source.ts";
import { applyConfig, clusterFixture, LOOSE_CRD, QUICK, RESTARTS_TIMEOUT_MS } from "./kubernetes-fixture.suite.ts";
import type { KubernetesSource, KubernetesSourceOptions } from "./kubernetes-source.ts";

let cluster: KubernetesCluster;

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
  await cluster.createNamespaces("default", "team", "other");
}, RESTARTS_TIMEOUT_MS);

afterAll(async () => {
  await cluster.stop();
});

describeSource("cluster, all namespaces", () => clusterFixture(cluster));

describeSource("cluster, named namespaces with at most two resources", () =>
  clusterFixture(cluster, { scope: { kind: "named", names: ["default", "team"] }, namespaceResourcesMax: 2 }),
);

describe("KubernetesSource", () => {
  let watched: WatchedSource | undefined;
  const written = new Set<string>();

  async function watch(options: Partial<KubernetesSourceOptions> = {}): Promise<WatchedSource> {
    watched = await watchSource(clusterFixture(cluster, options));
    return watched;
  }

  async function write(text: Parameters<typeof manifest>[0]): Promise<void> {
    written.add(`${text.namespace ?? "default"}/${text.name}`);
    await applyConfig(cluster, manifest(text));
  }

  afterEach(async () => {
    await watched?.source.stop();
    watched = undefined;
    for (const key of written) await cluster.deleteConfig(key);
    written.clear();
  });

  async function label(namespace: string, ...labels: readonly string[]): Promise<void> {
    expect(await cluster.kubectl(["label", "--overwrite", "namespace", namespace, ...labels])).toMatchObject({
      code: 0,
    });
  }

  it("locates objects without lines, and has uid, generation and age", async () => {
    await write({ name: "a", domain: "alpha" });
    const { source, until } = await watch();
    const before = (await source.read()).resources[0];
    expect(before?.place).toEqual({ file: "ratelimitconfigs/default/a", line: 0, column: 0 });
    expect(before?.locate(["spec", "domain"])).toEqual(before?.place);
    expect(before).toMatchObject({ generation: 1, uid: expect.stringMatching(/^[-0-9a-f]{36}$/) as string });
    expect(Math.abs((before?.createdMs ?? 0) - Date.now())).toBeLessThan(60_000);
    await write({ name: "a", domain: "alpha", requestsPerUnit: 9 });
    const after = (await until("the change", (state) => limitOf(state, "default/a") === 9)).resources[0];
    expect(after).toMatchObject({ generation: 2, uid: before?.uid, createdMs: before?.createdMs });
  });

  it("reports no change when only status and labels of an object change", async () => {
    await write({ name: "a", domain: "alpha" });
    const { source, calls, until } = await watch();
    const state = await source.read();
    const before = calls();
    const path = "/apis/ratelimit.weir.dev/v1alpha1/namespaces/default/ratelimitconfigs/a";
    const status = { observedGeneration: 1 };
    expect(await cluster.api.send("PATCH", `${path}/status`, { status })).toMatchObject({ status: 200 });
    const metadata = { labels: { x: "y" } };
    expect(await cluster.api.send("PATCH", path, { metadata })).toMatchObject({ status: 200 });
    expect([calls(), await source.read()]).toEqual([before, state]);
    // A change that comes after them is noticed, so they have been seen.
    await write({ name: "b", domain: "beta" });
    const after = await until("b", (now) => keysOf(now).includes("default/b"));
    expect(calls()).toBe(before + 1);
    expect(after.resources[0]).toBe(state.resources[0]);
  });

  it("ignores unknown fields, which a newer definition may have, and reports wrong values with their path", async () => {
    const text = manifest({ name: "a", domain: "alpha" }).replace("  domain:", "  colour: red\n  domain:");
    written.add("default/a").add("default/b");
    await applyConfig(cluster, text);
    await applyConfig(cluster, manifest({ name: "b", domain: "beta", fleets: ["no spaces allowed"] }));
    const { source } = await watch();
    const state = await source.read();
    expect(keysOf(state)).toEqual(["default/a"]);
    expect(state.refusals).toEqual([
      {
        place: { file: "ratelimitconfigs/default/b", line: 0, column: 0 },
        field: "spec.fleets[0]",
        message: expect.stringContaining("must consist of letters") as string,
        resource: "default/b",
        uid: expect.any(String) as string,
        generation: 1,
        keepsLastGood: false,
      },
    ]);
  });

  it("leaves out the namespaces that are not named", async () => {
    await write({ name: "a", domain: "alpha", namespace: "team" });
    await write({ name: "b", domain: "beta", namespace: "other" });
    const { source } = await watch({ scope: { kind: "named", names: ["team", "not-there-yet"] } });
    expect(keysOf(await source.read())).toEqual(["team/a"]);
    expect(source.location).toBe("Kubernetes, namespaces team, not-there-yet");
    await cluster.createNamespaces("not-there-yet");
    await write({ name: "c", domain: "gamma", namespace: "not-there-yet" });
    await watched?.until("c", (state) => keysOf(state).includes("not-there-yet/c"));
  });

  it("follows the labels of namespaces that gain and lose them", async () => {
    await label("team", "limits=on");
    await write({ name: "a", domain: "alpha", namespace: "team" });
    await write({ name: "b", domain: "beta", namespace: "other" });
    const { source, until } = await watch({ scope: { kind: "labelled", selector: "limits in (on)" } });
    expect(keysOf(await source.read())).toEqual(["team/a"]);
    await label("other", "limits=on");
    await until("other gains the label", (state) => keysOf(state).join() === "other/b,team/a");
    await label("team", "limits=off");
    await until("team loses the label", (state) => keysOf(state).join() === "other/b");
    await write({ name: "a", domain: "alpha", namespace: "team", requestsPerUnit: 77 });
    await label("team", "limits=on");
    // Namespaces and objects come on two connections, in any order.
    await until(
      "team has it again",
      (state) => keysOf(state).join() === "other/b,team/a" && limitOf(state, "team/a") === 77,
    );
    await label("team", "limits-");
    await label("other", "limits-");
    await until("no namespace to have it", (state) => state.resources.length === 0);
  });

  it("serves the oldest resources of a namespace that has too many, and all of the others", async () => {
    for (const name of ["d", "c", "b", "a"]) await write({ name, domain: name, namespace: "team" });
    await write({ name: "a", domain: "other", namespace: "other" });
    const { source, until } = await watch({ namespaceResourcesMax: 2 });
    const { resources, refusals } = await source.read();
    // Of resources of the same second the first by name are served.
    const byAge = resources.filter(({ namespace }) => namespace === "team").map(resourceKey);
    const left = refusals.map(({ resource }) => resource);
    expect([byAge.length, left.length, [...byAge, ...left].toSorted(), resources.length]).toEqual([
      2,
      2,
      ["team/a", "team/b", "team/c", "team/d"],
      3,
    ]);
    expect(refusals).toMatchObject([{ reason: "TooMany" }, { reason: "TooMany" }]);
    expect(source.condition().problem).toBeUndefined();
    await write({ name: "e", domain: "e", namespace: "team" });
    await until("the youngest to be too many", (state) => state.refusals.length === 3);
    // The oldest of those that were left out takes the place of a deleted one.
    await cluster.deleteConfig(byAge[0] ?? "");
    const after = await until("the next one", (state) => state.refusals.length === 2);
    expect(keysOf(after).toSorted()).toEqual(["other/a", byAge[1], left[0]].toSorted());
    await cluster.deleteConfig("team/e");
    await cluster.deleteConfig(byAge[1] ?? "");
    await until("all to be served", (state) => state.refusals.length === 0 && state.resources.length === 3);
  });

  it("lists what is too large for one answer in pages", { timeout: RESTARTS_TIMEOUT_MS }, async () => {
    const names = Array.from({ length: 260 }, (_, index) => `many-${String(index).padStart(3, "0")}`);
    const note = `  annotations:\n    note: ${"x".repeat(80_000)}\nspec:`;
    for (let first = 0; first < names.length; first += 20) {
      await Promise.all(
        names.slice(first, first + 20).map((name) => {
          written.add(`other/${name}`);
          return applyConfig(cluster, manifest({ name, domain: name, namespace: "other" }).replace("spec:", note));
        }),
      );
    }
    // Patience: such lists take a busy server long.
    const { source } = await watch({ times: { ...QUICK, answerTimeoutMs: RESTARTS_TIMEOUT_MS } });
    expect(keysOf(await source.read())).toEqual(names.map((name) => `other/${name}`));
    expect(source.condition().problem).toBeUndefined();
    // Everything in one call and 250 objects at a time are too large.
    expect((source as KubernetesSource).counts()).toMatchObject({ lists: 3, failures: { "too-large": 2 } });
  });
});
