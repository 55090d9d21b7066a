// Quick writes to a real API server, and sources over it. Only integration tests import it.
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";

import { type Log, silentLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { expect } from "vitest";

import type { SourceListener } from "../source.ts";
import type { SourceFixture } from "../source.suite.ts";
import { KubernetesSource, type KubernetesSourceOptions } from "./kubernetes-source.ts";

/** The CustomResourceDefinition that this repository ships. */
export const CRD_YAML = readFileSync(join(import.meta.dirname, "../../../../crds/crds/ratelimitconfigs.yaml"), "utf8");

/**
 * The same kind, of which the API server checks nothing: as if its definition were of another
 * version than this program.
 */
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

/**
 * Longest wait for the answer to one request, in milliseconds: an API server that loses etcd
 * meanwhile may not answer at all.
 */
const ANSWER_MAX_MS = 20_000;

/** What the API server answered. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
}

/** Sends one request to the API server as the user who may do everything. */
export async function callApi(
  cluster: KubernetesCluster,
  method: string,
  path: string,
  body?: { readonly type: string; readonly text: string },
): Promise<ApiAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
  const headers = {
    authorization: `Bearer ${cluster.adminToken}`,
    ...(body === undefined ? {} : { "content-type": body.type }),
  };
  const signal = AbortSignal.timeout(ANSWER_MAX_MS);
  const sent = request(cluster.url + path, { method, ca: cluster.caPem, headers, agent: false, signal }, (response) => {
    let text = "";
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
    response.on("error", reject);
  });
  sent.on("error", reject).end(body?.text);
  return await promise;
}

/** Applies one RateLimitConfig manifest; fails with the server's message when it is invalid. */
export async function applyConfig(cluster: KubernetesCluster, text: string): Promise<void> {
  const path = `${configPath(keyOf(text))}?fieldManager=test&force=true`;
  const { status, body } = await callApi(cluster, "PATCH", path, { type: "application/apply-patch+yaml", text });
  if (status >= 300) throw new Error(`The API server rejected it: ${body}`);
}

/** Deletes one RateLimitConfig, named `<namespace>/<name>`, if it is there. */
export async function deleteConfig(cluster: KubernetesCluster, key: string): Promise<void> {
  const { status, body } = await callApi(cluster, "DELETE", configPath(key));
  if (status >= 300 && status !== 404) throw new Error(`The API server rejected it: ${body}`);
}

/**
 * Installs a definition of RateLimitConfigs, and waits until the API server serves them: it reports
 * them as established somewhat before.
 */
export async function installConfigs(cluster: KubernetesCluster, definition: string): Promise<void> {
  await cluster.apply(definition);
  await eventually("RateLimitConfigs to be served", async () => {
    expect((await callApi(cluster, "GET", "/apis/ratelimit.weir.dev/v1alpha1/ratelimitconfigs")).status).toBe(200);
  });
}

/** Makes namespaces. */
export async function createNamespaces(cluster: KubernetesCluster, ...names: readonly string[]): Promise<void> {
  await cluster.apply(
    names.map((name) => `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n`).join("---\n"),
  );
}

/**
 * A kubeconfig of one user, by default the one who may do everything, with further fields of its
 * cluster.
 */
export function kubeconfigOf(
  cluster: KubernetesCluster,
  fields: object = {},
  token: string = cluster.adminToken,
): string {
  const server = {
    server: cluster.url,
    "certificate-authority-data": Buffer.from(cluster.caPem).toString("base64"),
    ...fields,
  };
  return JSON.stringify({
    "current-context": "test",
    clusters: [{ name: "test", cluster: server }],
    users: [{ name: "user", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "user" } }],
  });
}

/** A source as the user who may do everything. */
export function openSource(
  cluster: KubernetesCluster,
  listener: SourceListener,
  options: Partial<KubernetesSourceOptions> = {},
  log: Log = silentLog(),
): KubernetesSource {
  return new KubernetesSource(
    { log, listener, clock: Date.now, random: Math.random },
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
    remove: (name) => deleteConfig(cluster, keys.get(name) ?? ""),
    open: (listener) => openSource(cluster, listener, options),
    close: async () => {
      for (const key of keys.values()) await deleteConfig(cluster, key);
    },
  };
}

function keyOf(manifest: string): string {
  const name = /^ {2}name: (.*)$/m.exec(manifest)?.[1];
  const namespace = /^ {2}namespace: (.*)$/m.exec(manifest)?.[1];
  return `${namespace ?? "default"}/${name}`;
}

function configPath(key: string): string {
  const [namespace, name] = key.split("/");
  return `/apis/ratelimit.weir.dev/v1alpha1/namespaces/${namespace}/ratelimitconfigs/${name}`;
}
