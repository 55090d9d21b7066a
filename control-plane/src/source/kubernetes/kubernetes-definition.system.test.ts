// The CustomResourceDefinition is deleted and installed again on a real API server, under a source that
// may watch it and one that may not: both keep what vanished.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { manifest, type ManifestText } from "../../translate/manifests.suite.ts";
import { limitOf } from "../source.suite.ts";
import { resourceKey } from "../source.ts";
import { startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { applyConfig, LOOSE_CRD, openSource, RESTARTS_TIMEOUT_MS } from "./kubernetes-fixture.suite.ts";
import type { KubernetesSource } from "./kubernetes-source.ts";

const RBAC_FOLDER = join(import.meta.dirname, "../../../rbac");
const DEFINITION = "ratelimitconfigs.ratelimit.weir.dev";

/**
 * How long vanished resources are kept after the definition is back, in milliseconds: so long that the
 * tests see them, also on a busy machine.
 */
const KEEP_MS = 8000;

let cluster: KubernetesCluster;
/** The account with the optional right, and without it. */
const kubeconfigs: Record<string, string> = {};
let sources: Readonly<Record<string, KubernetesSource>>;

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.createNamespaces("default", "team", "weir-system");
  const roles = ["service-account", "cluster-role", "cluster-role-binding", "definition-reader"];
  await cluster.apply(roles.map((name) => readFileSync(join(RBAC_FOLDER, `${name}.yaml`), "utf8")).join("---\n"));
  // An account that has only the required role.
  const account = ["create", "serviceaccount", "restricted", "--namespace=weir-system"];
  const binding = ["create", "clusterrolebinding", "restricted", "--clusterrole=weir-control-plane"];
  for (const args of [account, [...binding, "--serviceaccount=weir-system:restricted"]])
    expect(await cluster.kubectl(args)).toMatchObject({ code: 0 });
  for (const [name, user] of [
    ["permitted", "weir-control-plane"],
    ["restricted", "restricted"],
  ] as const) {
    const token = await cluster.tokenOf(user, "weir-system");
    kubeconfigs[name] = join(cluster.folder, `kubeconfig-${name}`);
    writeFileSync(kubeconfigs[name], cluster.kubeconfig({}, token));
  }
}, RESTARTS_TIMEOUT_MS);

afterAll(async () => {
  await cluster.stop();
});

async function apply(text: ManifestText): Promise<void> {
  await applyConfig(cluster, manifest(text));
}

async function deleteDefinition(): Promise<void> {
  const { code, stderr } = await cluster.kubectl(["delete", "crd", DEFINITION, "--timeout=60s"]);
  expect([code, stderr]).toEqual([0, ""]);
}

/** Waits until all sources have these limits, and whether they report a problem. */
async function expectLimits(limits: Readonly<Record<string, number>>, hasProblem: boolean): Promise<void> {
  for (const [name, source] of Object.entries(sources)) {
    await eventually(`limits of the ${name} source`, async () => {
      expect(source.condition().problem !== undefined).toBe(hasProblem);
      expect(await limitsOf(source)).toEqual(limits);
    });
  }
}

async function limitsOf(source: KubernetesSource): Promise<Readonly<Record<string, number | undefined>>> {
  const state = await source.read();
  return Object.fromEntries(state.resources.map(resourceKey).map((key) => [key, limitOf(state, key)]));
}

/** The watches of definitions that the API server has, its own ones included. */
async function definitionWatches(): Promise<number> {
  const { text } = await cluster.api.send("GET", "/metrics");
  const watches = text.matchAll(/^apiserver_longrunning_requests\{.*resource="customresourcedefinitions".*\} (\d+)$/gm);
  return [...watches].reduce((sum, [, count]) => sum + Number(count), 0);
}

// First, because sources that were stopped may still be counted for a moment.
describe("KubernetesSource, while it cannot reach the API server", () => {
  it("keeps what vanished with a definition that was deleted and installed again meanwhile", async () => {
    await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
    await apply({ name: "a", domain: "alpha", requestsPerUnit: 1 });
    const proxy = await startCuttingProxy(Number(new URL(cluster.url).port));
    const path = join(cluster.folder, "kubeconfig-proxy");
    writeFileSync(path, cluster.kubeconfig({ server: `https://127.0.0.1:${proxy.port}` }));
    const connection = { kind: "kubeconfig", paths: [path] } as const;
    const source = openSource(cluster, { connection, keepVanishedMs: KEEP_MS });
    sources = { cut: source };
    try {
      const before = await definitionWatches();
      await source.start();
      await eventually("the watch of the definition", async () => {
        expect(await definitionWatches()).toBe(before + 1);
      });
      proxy.block();
      await expectLimits({ "default/a": 1 }, true);
      await deleteDefinition();
      await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
      await apply({ name: "x", domain: "beta", requestsPerUnit: 20 });
      proxy.restore();
      await expectLimits({ "default/a": 1, "default/x": 20 }, false);
      await expectLimits({ "default/x": 20 }, false);
    } finally {
      await source.stop();
      await proxy.close();
      await cluster.deleteConfig("default/x");
    }
  });
});

describe("KubernetesSource, with and without the right to watch the definition", () => {
  /** The limits that each source had after each of its changes, to see that nothing was removed in between. */
  const seen: Record<string, Readonly<Record<string, number | undefined>>[]> = {};

  beforeEach(async () => {
    await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
    await apply({ name: "a", domain: "alpha", requestsPerUnit: 1 });
    await apply({ name: "b", domain: "beta", requestsPerUnit: 2 });
    await apply({ name: "c", domain: "gamma", namespace: "team", requestsPerUnit: 3 });
    sources = Object.fromEntries(
      Object.entries(kubeconfigs).map(([name, path]) => {
        seen[name] = [];
        const connection = { kind: "kubeconfig", paths: [path] } as const;
        const source = openSource(cluster, { connection, keepVanishedMs: KEEP_MS });
        source.onChanged(() => void limitsOf(source).then((limits) => seen[name]?.push(limits)));
        return [name, source];
      }),
    );
    await Promise.all(Object.values(sources).map((source) => source.start()));
    await expectLimits({ "default/a": 1, "default/b": 2, "team/c": 3 }, false);
  });

  afterEach(async () => {
    await Promise.all(Object.values(sources).map((source) => source.stop()));
    for (const key of ["default/a", "default/b", "default/x", "team/c"]) await cluster.deleteConfig(key);
  });

  it("keeps what vanishes with the definition until it is created again, its domain is claimed, or nothing changes any more", async () => {
    await deleteDefinition();
    await expectLimits({ "default/a": 1, "default/b": 2, "team/c": 3 }, true);
    // The watch of the definition reports its deletion before anything is removed.
    expect(seen["permitted"]).not.toEqual([]);
    for (const limits of seen["permitted"] ?? [])
      expect(limits).toEqual({ "default/a": 1, "default/b": 2, "team/c": 3 });
    await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
    await apply({ name: "a", domain: "alpha", requestsPerUnit: 10 });
    await apply({ name: "x", domain: "beta", requestsPerUnit: 20 });
    await expectLimits({ "default/a": 10, "default/x": 20, "team/c": 3 }, false);
    await expectLimits({ "default/a": 10, "default/x": 20 }, false);
  });

  it("removes again what is deleted when the definition is there", async () => {
    await deleteDefinition();
    await expectLimits({ "default/a": 1, "default/b": 2, "team/c": 3 }, true);
    await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
    for (const name of ["a", "b"]) await apply({ name, domain: name, requestsPerUnit: 5 });
    await apply({ name: "c", domain: "gamma", namespace: "team", requestsPerUnit: 5 });
    await expectLimits({ "default/a": 5, "default/b": 5, "team/c": 5 }, false);
    await cluster.deleteConfig("default/a");
    await expectLimits({ "default/b": 5, "team/c": 5 }, false);
  });

  it("removes everything after the definition was installed again without its resources", async () => {
    await deleteDefinition();
    await expectLimits({ "default/a": 1, "default/b": 2, "team/c": 3 }, true);
    await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
    await expectLimits({ "default/a": 1, "default/b": 2, "team/c": 3 }, false);
    await expectLimits({}, false);
  });
});
