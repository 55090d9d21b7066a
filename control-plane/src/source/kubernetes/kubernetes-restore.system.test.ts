// Two replicas over a real API server whose etcd is restored from a backup again and again: both have
// what the API server lists afterwards.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import { limitOf } from "../source.suite.ts";
import { resourceKey } from "../source.ts";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { applyConfig, LOOSE_CRD, openSource, RESTARTS_TIMEOUT_MS } from "./kubernetes-fixture.suite.ts";
import type { KubernetesSource } from "./kubernetes-source.ts";

/** How often etcd is restored. */
const RESTORES = 10;

/** Edits before and after each restore. */
const EDITS = 10;

/** The names of the resources that are edited. */
const NAMES = ["a", "b", "c", "d"];

let cluster: KubernetesCluster;
/** The way of each replica to the API server. */
const proxies: Record<string, CuttingProxy> = {};
const replicas: Record<string, KubernetesSource> = {};

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
  await cluster.createNamespaces("default");
  for (const name of ["near", "far"]) {
    const proxy = await startCuttingProxy(Number(new URL(cluster.url).port));
    proxies[name] = proxy;
    const path = join(cluster.folder, `kubeconfig-${name}`);
    writeFileSync(path, cluster.kubeconfig({ server: `https://127.0.0.1:${proxy.port}` }));
    const connection = { kind: "kubeconfig", paths: [path] } as const;
    replicas[name] = openSource(cluster, { connection });
  }
  await Promise.all(Object.values(replicas).map((replica) => replica.start()));
}, RESTARTS_TIMEOUT_MS);

afterAll(async () => {
  await Promise.all(Object.values(replicas).map((replica) => replica.stop()));
  await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
  await cluster.stop();
});

/** Makes edits that depend on `first` alone: one in four deletes. */
async function edit(first: number): Promise<void> {
  for (let index = first; index < first + EDITS; index += 1) {
    const name = NAMES[(index * 7 + Math.floor(index / 3)) % NAMES.length] ?? "a";
    if (index % 4 === 3) await cluster.deleteConfig(`default/${name}`);
    else await applyConfig(cluster, manifest({ name, domain: name, requestsPerUnit: index + 1 }));
  }
}

type Limits = Readonly<Record<string, number | undefined>>;

/** The limits that the API server lists, by resource; it may be not ready at first. */
async function listedLimits(): Promise<Limits> {
  const items = (await eventually("the API server to list", () =>
    cluster.api.list("/apis/ratelimit.weir.dev/v1alpha1/ratelimitconfigs"),
  )) as unknown as {
    metadata: { namespace: string; name: string };
    spec: { descriptors: [{ rateLimit: { requestsPerUnit: number } }] };
  }[];
  return Object.fromEntries(
    items.map(({ metadata, spec }) => [resourceKey(metadata), spec.descriptors[0].rateLimit.requestsPerUnit]),
  );
}

async function limitsOf(replica: KubernetesSource): Promise<Limits> {
  const state = await replica.read();
  return Object.fromEntries(state.resources.map(resourceKey).map((key) => [key, limitOf(state, key)]));
}

/** Waits until both replicas have exactly what the API server lists. */
async function expectListed(): Promise<void> {
  const listed = await listedLimits();
  for (const [name, replica] of Object.entries(replicas)) {
    await eventually(`the ${name} replica to have what the API server lists`, async () =>
      expect(await limitsOf(replica)).toEqual(listed),
    );
  }
}

describe("KubernetesSource", () => {
  it(
    `has what the API server lists after each of ${RESTORES} restores of etcd, also when it connects only when the server has reached its version again`,
    { timeout: 2 * RESTARTS_TIMEOUT_MS },
    async () => {
      for (let restore = 0; restore < RESTORES; restore += 1) {
        const first = 3 * EDITS * restore;
        await edit(first);
        const saved = await listedLimits();
        const restoreEtcd = await cluster.backUpEtcd();
        await edit(first + EDITS);
        await expectListed();
        // The near replica connects before the server has reached its version again, the far one
        // only after more edits than those that were lost.
        proxies["near"]?.block();
        proxies["far"]?.hold();
        await restoreEtcd();
        expect(await listedLimits()).toEqual(saved);
        proxies["near"]?.restore();
        await edit(first + 2 * EDITS);
        await applyConfig(cluster, manifest({ name: "a", domain: "a", requestsPerUnit: 1_000_000 + restore }));
        proxies["far"]?.restore();
        await expectListed();
      }
    },
  );
});
