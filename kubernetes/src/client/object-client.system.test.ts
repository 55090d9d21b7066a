// ObjectClient with a real API server.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { openClusterAccess } from "../access/cluster-access.ts";
import { ApiClient } from "./api-client.ts";
import type { ApiKind } from "./api-resource.ts";
import { ObjectClient, type WrittenObject } from "./object-client.ts";

const TIMEOUTS = { answerTimeoutMs: 20_000, silenceTimeoutMs: 20_000, slowAfterMs: 20_000 };
const CONFIG_MAPS: ApiKind = { group: "", version: "v1", plural: "configmaps" };
const QUOTAS: ApiKind = { group: "", version: "v1", plural: "resourcequotas" };
const PODS: ApiKind = { group: "", version: "v1", plural: "pods" };
const UNKNOWN: ApiKind = { group: "weir.test", version: "v1", plural: "things" };

function configMap(name: string, data: Readonly<Record<string, string>>, resourceVersion?: string): WrittenObject {
  const metadata = { name, namespace: "default", ...(resourceVersion !== undefined && { resourceVersion }) };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

describe("ObjectClient", () => {
  let cluster: KubernetesCluster;
  let client: ApiClient;
  let objects: ObjectClient;
  const { signal } = new AbortController();
  const at = (name: string) => ({ namespace: "default", name });
  const byTest = { fieldManager: "test" };

  beforeAll(async () => {
    cluster = await startKubernetesCluster();
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
    client = new ApiClient(access, TIMEOUTS, { userAgent: "test" });
    objects = new ObjectClient(client);
  });

  afterAll(async () => {
    await client.close();
    await cluster.stop();
  });

  it("applies, reads and deletes an object", async () => {
    const applied = await objects.apply(CONFIG_MAPS, configMap("life", { a: "1", b: "2" }), byTest, signal);
    expect(applied).toMatchObject({ name: "life", namespace: "default", content: { data: { a: "1", b: "2" } } });
    await objects.apply(CONFIG_MAPS, configMap("life", { a: "3" }), byTest, signal);
    const read = await objects.get(CONFIG_MAPS, at("life"), signal);
    expect(read?.content["data"]).toEqual({ a: "3" });
    expect(await objects.delete(CONFIG_MAPS, at("life"), {}, signal)).toBe(true);
    expect(await objects.delete(CONFIG_MAPS, at("life"), {}, signal)).toBe(false);
    expect(await objects.get(CONFIG_MAPS, at("life"), signal)).toBeUndefined();
  });

  it("lists the objects of a namespace with their kind", async () => {
    await objects.apply(CONFIG_MAPS, configMap("listed", { a: "1" }), byTest, signal);
    const listed = await objects.list(CONFIG_MAPS, "default", signal);
    expect(listed.find(({ name }) => name === "listed")?.content).toMatchObject({
      kind: "ConfigMap",
      data: { a: "1" },
    });
    expect(await objects.list(CONFIG_MAPS, "no-such-namespace", signal)).toEqual([]);
    await expect(objects.list(UNKNOWN, "default", signal)).rejects.toMatchObject({
      kind: "refused",
      isKindMissing: true,
    });
  });

  it("does not take a field of another manager unless forced", async () => {
    await objects.apply(CONFIG_MAPS, configMap("shared", { a: "1" }), { fieldManager: "owner" }, signal);
    const taken = configMap("shared", { a: "2" });
    await expect(objects.apply(CONFIG_MAPS, taken, byTest, signal)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining('conflict with "owner"') as string,
    });
    const forced = await objects.apply(CONFIG_MAPS, taken, { ...byTest, isForced: true }, signal);
    expect(forced.content["data"]).toEqual({ a: "2" });
  });

  it("creates an object once", async () => {
    expect(await objects.create(CONFIG_MAPS, configMap("once", {}), {}, signal)).toMatchObject({ name: "once" });
    expect(await objects.create(CONFIG_MAPS, configMap("once", {}), {}, signal)).toBeUndefined();
  });

  it("writes and deletes only the version and the object that it was told", async () => {
    const created = await objects.create(CONFIG_MAPS, configMap("versions", { a: "1" }), {}, signal);
    const { resourceVersion = "" } = created ?? {};
    await objects.update(CONFIG_MAPS, configMap("versions", { a: "2" }, resourceVersion), {}, signal);
    const late = configMap("versions", { a: "3" }, resourceVersion);
    await expect(objects.update(CONFIG_MAPS, late, {}, signal)).rejects.toMatchObject({ kind: "conflict" });
    await expect(objects.apply(CONFIG_MAPS, late, byTest, signal)).rejects.toMatchObject({ kind: "conflict" });
    const other = { uid: "00000000-0000-0000-0000-000000000000" };
    await expect(objects.delete(CONFIG_MAPS, at("versions"), other, signal)).rejects.toMatchObject({
      kind: "conflict",
    });
  });

  it("tells a missing right from a quota and from other admission", async () => {
    await cluster.createNamespaces("full");
    const inFull = { ...configMap("over", {}), metadata: { name: "over", namespace: "full" } };
    const hard = { "count/configmaps": "0" };
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "few", namespace: "full" } };
    await objects.apply(QUOTAS, { ...quota, spec: { hard } }, byTest, signal);
    // There is no controller that fills the status in.
    await objects.apply(
      QUOTAS,
      { ...quota, status: { hard, used: hard } },
      { ...byTest, subresource: "status" },
      signal,
    );
    // Until the server has seen that status, it says that it is unknown.
    await eventually("the quota is exceeded", async () => {
      await expect(objects.create(CONFIG_MAPS, inFull, {}, signal)).rejects.toMatchObject({
        kind: "refused",
        reason: expect.stringMatching(
          /^a quota of the namespace does not allow it; the server says .*exceeded/,
        ) as string,
      });
    });
    const pod = { ...configMap("pod", {}), kind: "Pod", spec: { containers: [{ name: "a", image: "a" }] } };
    await expect(objects.create(PODS, pod, {}, signal)).rejects.toMatchObject({
      kind: "refused",
      reason: expect.stringMatching(/^the cluster's admission does not allow it; .*service account/) as string,
    });
    await cluster.apply("{apiVersion: v1, kind: ServiceAccount, metadata: {name: powerless, namespace: default}}");
    const token = await cluster.tokenOf("powerless", "default");
    const path = join(cluster.folder, "powerless.kubeconfig");
    writeFileSync(path, cluster.kubeconfig({}, token));
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [path] }, Date.now);
    const powerless = new ApiClient(access, TIMEOUTS, { userAgent: "test" });
    const denied = new ObjectClient(powerless).apply(CONFIG_MAPS, configMap("denied", {}), byTest, signal);
    await expect(denied).rejects.toMatchObject({
      kind: "forbidden",
      reason:
        'this account lacks the verb "patch" on "configmaps" of the core API group in namespace default, grant it with a role; the server says "User "system:serviceaccount:default:powerless" cannot patch resource "configmaps" in API group "" in the namespace "default""',
    });
    await powerless.close();
  });

  it("changes nothing in a dry run", async () => {
    const created = await objects.create(CONFIG_MAPS, configMap("dry", {}), { isDryRun: true }, signal);
    expect(created).toMatchObject({ name: "dry" });
    expect(await objects.get(CONFIG_MAPS, at("dry"), signal)).toBeUndefined();
  });

  it("says what the server refused, with the sub-resource, and which kind it does not serve", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "none", namespace: "default" }, status: {} };
    await expect(objects.apply(PODS, pod, { ...byTest, subresource: "status" }, signal)).rejects.toMatchObject({
      kind: "absent",
      message: expect.stringMatching(/^Cannot patch pods\/status none: /) as string,
    });
    const invalid = configMap("Not A Name", {});
    await expect(objects.apply(CONFIG_MAPS, invalid, byTest, signal)).rejects.toMatchObject({
      kind: "refused",
      message: expect.stringContaining("metadata.name") as string,
    });
    await expect(objects.get(UNKNOWN, at("any"), signal)).rejects.toMatchObject({
      kind: "refused",
      isKindMissing: true,
    });
  });
});
