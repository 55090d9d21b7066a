// The rights that keeping certificates takes, with a real API server and a real token: get, create and
// patch of the four names, and nothing else.
import { createLog } from "@weir/common/log/log";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { ObjectClient, type WrittenObject } from "@weir/kubernetes/client/object-client";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { CertificateKeeper } from "./certificate-keeper.ts";
import { MANAGER } from "../leader/managed-by.ts";
import { SECRETS } from "./certificate-secret.ts";

const TIMEOUTS = { answerTimeoutMs: 20_000, silenceTimeoutMs: 20_000, slowAfterMs: 20_000 };

const NAMESPACES = ["weir-system", "shop"];

const OWN_SECRETS = ["weir-ca", "weir-control-plane-tls", "weir-operator-tls"];

function rule(verbs: readonly string[], resourceNames: readonly string[]) {
  return { apiGroups: [""], resources: ["secrets"], verbs, resourceNames };
}

function role(namespace: string, rules: readonly unknown[]): readonly object[] {
  const [name, apiGroup] = ["operator", "rbac.authorization.k8s.io"];
  const subjects = [{ kind: "ServiceAccount", name: "weir-operator", namespace: "weir-system" }];
  return [
    { apiVersion: `${apiGroup}/v1`, kind: "Role", metadata: { name, namespace }, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: "RoleBinding",
      metadata: { name, namespace },
      roleRef: { apiGroup, kind: "Role", name },
      subjects,
    },
  ];
}

describe("the rights of CertificateKeeper", () => {
  let cluster: KubernetesCluster;
  let client: ApiClient;
  let objects: ObjectClient;
  const { signal } = new AbortController();

  /** Gives the operator these verbs on its names, and nothing else. */
  async function grant(verbs: readonly string[]): Promise<void> {
    const manifests = [
      ...role("weir-system", [rule(verbs, OWN_SECRETS)]),
      ...role("shop", [rule(verbs, ["weir-ratelimit-tls"])]),
    ];
    await cluster.apply(manifests.map((each) => JSON.stringify(each)).join("\n---\n"));
  }

  beforeAll(async () => {
    cluster = await startKubernetesCluster();
    await cluster.createNamespaces(...NAMESPACES);
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "weir-operator", namespace: "weir-system" },
    };
    await cluster.apply(JSON.stringify(account));
    const token = await cluster.tokenOf("weir-operator", "weir-system");
    const path = join(cluster.folder, "operator-kubeconfig");
    writeFileSync(path, cluster.kubeconfig({}, token));
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [path] }, Date.now);
    client = new ApiClient(access, TIMEOUTS, { userAgent: "test" });
    objects = new ObjectClient(client);
  });

  afterAll(async () => {
    await client.close();
    await cluster.stop();
  });

  function secret(namespace: string, name: string): WrittenObject {
    return { apiVersion: "v1", kind: "Secret", metadata: { namespace, name }, data: { a: "YQ==" } };
  }

  async function apply(namespace: string, name: string): Promise<unknown> {
    return await objects.apply(SECRETS, secret(namespace, name), { fieldManager: MANAGER }, signal);
  }

  it("needs `create`, which resourceNames bind too, to make a Secret by server-side apply", async () => {
    await grant(["get", "patch"]);
    await expect(apply("shop", "weir-ratelimit-tls")).rejects.toMatchObject({
      kind: "forbidden",
      message: expect.stringContaining('cannot create resource "secrets"') as string,
    });
    await grant(["get", "create", "patch"]);
    const isDryRun = { fieldManager: MANAGER, isDryRun: true };
    expect(await objects.apply(SECRETS, secret("shop", "weir-ratelimit-tls"), isDryRun, signal)).toMatchObject({
      name: "weir-ratelimit-tls",
    });
  });

  it("makes and changes the four Secrets with get, create and patch of their names", async () => {
    await grant(["get", "create", "patch"]);
    const identity = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", uid: "0-0-0" };
    const service = { ...identity, namespace: "shop", name: "core", fleet: "shop.core", createdMs: 0 };
    let services = [service];
    // The configuration of the webhook is another right.
    const withoutWebhook = {
      apply: objects.apply.bind(objects),
      get: async (...[kind, ...rest]: Parameters<ObjectClient["get"]>) =>
        kind.plural === "secrets" ? await objects.get(kind, ...rest) : undefined,
    };
    const keeper = new CertificateKeeper(
      {
        log: createLog({ level: "error", format: "json", write: () => undefined }),
        clock: Date.now,
        objects: withoutWebhook,
        events: { record: () => undefined },
        services: () => services,
      },
      {
        namespace: "weir-system",
        clusterDomain: "cluster.local",
        controlPlaneServices: ["weir-control-plane"],
        webhookService: "weir-operator",
      },
    );
    await keeper.reconcile(keeper.key, signal);
    const keysOf = async (): Promise<readonly string[]> => {
      const { stdout } = await cluster.kubectl(["get", "secret", "weir-ratelimit-tls", "-n", "shop", "-o", "json"]);
      return Object.keys((JSON.parse(stdout) as { data: object }).data);
    };
    expect(await keysOf()).toEqual(["ca.crt", "core.crt", "core.key"]);
    const versions = async (): Promise<string> =>
      (
        await cluster.kubectl([
          "get",
          "secrets",
          "-A",
          "-o",
          "custom-columns=:.metadata.name,:.metadata.resourceVersion",
        ])
      ).stdout;
    const before = await versions();
    await keeper.reconcile(keeper.key, signal);
    expect(await versions()).toBe(before);
    services = [{ ...service, name: "edge", uid: "1-1-1" }];
    await keeper.reconcile(keeper.key, signal);
    expect(await keysOf()).toEqual(["ca.crt", "edge.crt", "edge.key"]);
  });

  it.each([
    { namespace: "weir-system", name: "other" },
    { namespace: "shop", name: "weir-ca" },
    { namespace: "default", name: "weir-ratelimit-tls" },
  ])("cannot read or write $namespace/$name", async ({ namespace, name }) => {
    await grant(["get", "create", "patch"]);
    await cluster.apply(JSON.stringify(secret(namespace, name)));
    await expect(objects.get(SECRETS, { namespace, name }, signal)).rejects.toMatchObject({ kind: "forbidden" });
    await expect(apply(namespace, name)).rejects.toMatchObject({ kind: "forbidden" });
    const created = objects.create(SECRETS, secret(namespace, `${name}-2`), {}, signal);
    await expect(created).rejects.toMatchObject({ kind: "forbidden" });
    await expect(objects.delete(SECRETS, { namespace, name }, {}, signal)).rejects.toMatchObject({ kind: "forbidden" });
  });
});
