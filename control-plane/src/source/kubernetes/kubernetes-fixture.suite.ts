// Objects of a real API server, and sources over it. Only integration tests import it.
import { type Log, silentLog } from "@weir/common/log/log";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";

import type { SourceFixture } from "../source.suite.ts";
import { KubernetesSource, type KubernetesSourceOptions } from "./kubernetes-source.ts";

/** The kind, of which the API server checks nothing: as if its definition were of another version than this program. */
export const LOOSE_CRD = JSON.stringify({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "ratelimitconfigs.ratelimit.weir.dev" },
  spec: {
    group: "ratelimit.weir.dev",
    scope: "Namespaced",
    names: { kind: "RateLimitConfig", plural: "ratelimitconfigs", singular: "ratelimitconfig" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        subresources: { status: {} },
      },
    ],
  },
});

/** Short times, so that tests of failures do not take minutes. */
export const QUICK = { backoffInitialMs: 50, backoffMaxMs: 500, slowMs: 200 } as const;

/**
 * Longest time of a test that starts servers again, in milliseconds: they may need long, and so may
 * the source to find them.
 */
export const RESTARTS_TIMEOUT_MS = 240_000;

/** Applies one RateLimitConfig manifest; fails with the server's message when it is invalid. */
export async function applyConfig(cluster: KubernetesCluster, text: string): Promise<void> {
  await cluster.applyConfig(keyOf(text), text);
}

/** A source as the user who may do everything. */
export function openSource(
  cluster: KubernetesCluster,
  options: Partial<KubernetesSourceOptions> = {},
  log: Log = silentLog(),
): KubernetesSource {
  return new KubernetesSource(
    { log, clock: Date.now, random: Math.random },
    {
      connection: { kind: "kubeconfig", paths: [cluster.kubeconfigPath] },
      scope: { kind: "all" },
      keepVanishedMs: 0,
      times: QUICK,
      ...options,
    },
  );
}

/** A cluster for the behaviour suite, whose documents are objects. */
export function clusterFixture(
  cluster: KubernetesCluster,
  options: Partial<KubernetesSourceOptions> = {},
): SourceFixture {
  const keys = new Map<string, string>();
  return {
    write: async (name, text) => {
      keys.set(name, keyOf(text));
      await applyConfig(cluster, text);
    },
    remove: (name) => cluster.deleteConfig(keys.get(name) ?? ""),
    open: () => openSource(cluster, options),
    close: async () => {
      for (const key of keys.values()) await cluster.deleteConfig(key);
    },
  };
}

function keyOf(manifest: string): string {
  const name = /^ {2}name: (.*)$/m.exec(manifest)?.[1];
  const namespace = /^ {2}namespace: (.*)$/m.exec(manifest)?.[1];
  return `${namespace ?? "default"}/${name}`;
}
