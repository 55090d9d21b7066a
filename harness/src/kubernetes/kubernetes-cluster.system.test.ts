// The cluster of the tests: that it is a real one, and survives what tests do to it.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../processes/eventually.ts";
import { type KubernetesCluster, startKubernetesCluster } from "./kubernetes-cluster.ts";

/** Longest wait for a server to come up, in milliseconds. */
const START_TIMEOUT_MS = 120_000;

const NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n";

describe("KubernetesCluster", () => {
  let cluster: KubernetesCluster;
  beforeAll(async () => {
    cluster = await startKubernetesCluster();
  });
  afterAll(async () => {
    await cluster.stop();
  });

  it("apply() makes an object that kubectl lists", async () => {
    await cluster.apply(NAMESPACE);
    expect(await cluster.kubectl(["get", "namespace", "shop", "--output=name"])).toMatchObject({
      code: 0,
      stdout: "namespace/shop\n",
    });
  });

  it("apply() throws the message of the server when a manifest is invalid", async () => {
    await expect(cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: Shop\n")).rejects.toThrow(
      'Invalid value: "Shop"',
    );
  });

  it("startApiServer() and etcd.start() lose nothing after a kill of both", async () => {
    await cluster.apply(NAMESPACE);
    await cluster.apiServer.kill();
    expect((await cluster.kubectl(["get", "namespaces"])).code).not.toBe(0);
    await cluster.etcd.kill();
    cluster.etcd.start();
    await cluster.startApiServer();
    await eventually("the namespace to be listed", async () => {
      expect((await cluster.kubectl(["get", "namespace", "shop", "--output=name"])).stdout).toBe("namespace/shop\n");
    });
  });

  it("startApiServer() waits for its port while another program has it", async () => {
    await cluster.apiServer.kill();
    const sockets: Socket[] = [];
    const other = createServer((socket) => void sockets.push(socket)).listen(
      Number(new URL(cluster.url).port),
      "127.0.0.1",
    );
    await once(other, "listening");
    const started = cluster.startApiServer();
    await eventually(
      "the first attempt to fail",
      () => {
        expect(readFileSync(join(cluster.folder, "kube-apiserver.log"), "utf8")).toContain("address already in use");
      },
      START_TIMEOUT_MS,
    );
    other.close();
    for (const socket of sockets) socket.destroy();
    await started;
    expect((await cluster.kubectl(["get", "namespaces"])).code).toBe(0);
  });

  it("compact() makes the server forget old revisions", async () => {
    const list = JSON.parse((await cluster.kubectl(["get", "--raw", "/api/v1/namespaces"])).stdout) as {
      metadata: { resourceVersion: string };
    };
    await cluster.apply(NAMESPACE.replace("shop", "later"));
    await cluster.compact();
    const path = `/api/v1/namespaces?resourceVersion=${list.metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const { stderr } = await cluster.kubectl(["get", "--raw", path]);
    expect(stderr).toContain("too old");
  });
});

describe("KubernetesCluster with controllers", () => {
  let cluster: KubernetesCluster;
  beforeAll(async () => {
    cluster = await startKubernetesCluster({ full: true });
  });
  afterAll(async () => {
    await cluster.stop();
  });

  it("gives a Deployment ready pods", async () => {
    const labels = { app: "web" };
    const container = { name: "web", image: "web.example" };
    await cluster.apply(
      JSON.stringify({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web", namespace: "default" },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [container] } },
        },
      }),
    );
    const { code, stdout } = await cluster.kubectl(["rollout", "status", "deployment/web", "--timeout=60s"]);
    expect({ code, last: stdout.trim().split("\n").at(-1) }).toEqual({
      code: 0,
      last: 'deployment "web" successfully rolled out',
    });
  });

  it("ends a namespace that is deleted", async () => {
    await cluster.apply(NAMESPACE);
    expect(await cluster.kubectl(["delete", "namespace", "shop", "--timeout=60s"])).toMatchObject({ code: 0 });
  });
});
