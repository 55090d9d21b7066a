// Tests of `weir rollout` with the replicas of a cluster (docs/cli.md): found through their Service by a real API
// server, and reached through it and a kubelet of the test.
import { eventually } from "@weir/harness/processes/eventually";
import { type FakeKubelet, startFakeKubelet } from "@weir/harness/kubernetes/fake-kubelet";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { FakeControlPlane, rolloutOf, run } from "./rollout.suite.ts";

describe("weir rollout --from-cluster", () => {
  let cluster: KubernetesCluster;
  let kubelet: FakeKubelet;
  const replicas: FakeControlPlane[] = [];

  beforeAll(async () => {
    [cluster, kubelet] = await Promise.all([startKubernetesCluster(), startFakeKubelet()]);
    const address = { type: "InternalIP", address: "127.0.0.1" };
    const objects = [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "weir-system" } },
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "weir-system" } },
      { apiVersion: "v1", kind: "Node", metadata: { name: "near" } },
    ];
    await cluster.apply(objects.map((object) => JSON.stringify(object)).join("\n---\n"));
    const status = { addresses: [address], daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } } };
    const patch = `--patch=${JSON.stringify({ status })}`;
    await cluster.kubectl(["patch", "node", "near", "--subresource=status", "--type=merge", patch]);
    for (const name of ["cp-0", "cp-1"]) {
      const replica = new FakeControlPlane(rolloutOf(name, name === "cp-0" ? { a: 1 } : { b: 1 }));
      replicas.push(replica);
      const { port } = new URL(await replica.start(await reservePort())); // No other server gets it when this one stops.
      await cluster.apply(manifestsOf(name, Number(port)));
    }
  });

  async function rollout(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { ended, output } = run(["--from-cluster", "--kubeconfig", cluster.kubeconfigPath, ...args]);
    return { code: await ended, ...output };
  }

  afterAll(async () => {
    for (const replica of replicas) await replica.stop();
    await kubelet.close();
    await cluster.stop();
  });

  it("asks the ready replicas of the Service through the API server, and merges their answers", async () => {
    const { code, stdout, stderr } = await rollout("-o", "json", "default/shop");
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      replicas: [
        { server: "weir-system/cp-0", replica: "cp-0" },
        { server: "weir-system/cp-1", replica: "cp-1" },
      ],
      pods: [{ pod: "a" }, { pod: "b" }],
    });
    expect(kubelet.requests.toSorted()).toEqual([
      "/portForward/weir-system/cp-0 v4.channel.k8s.io",
      "/portForward/weir-system/cp-1 v4.channel.k8s.io",
    ]);
  });

  it("waits through a watch until every pod has ACKed", async () => {
    replicas[1]?.change(rolloutOf("cp-1", { b: 3 }));
    const waiting = rollout("--wait", "--timeout", "40");
    await eventually("the watches", () => expect(kubelet.requests.length).toBeGreaterThan(3));
    replicas[1]?.change(rolloutOf("cp-1", { b: 1 }));
    const { code, stdout } = await waiting;
    expect([code, stdout.trim().split("\n").at(-1)]).toEqual([
      0,
      expect.stringMatching(/1 resource served and ACKed by all 2 pods$/) as string,
    ]);
  });

  it("names the replica that does not answer, with the words of its kubelet", async () => {
    await replicas[1]?.stop();
    const { code, stderr } = await rollout();
    expect(code).toBe(2);
    expect(stderr).toMatch(/^weir rollout: Cannot reach weir-system\/cp-1: .*the kubelet says "error forwarding port/);
  });

  it("names the ports of the Service when the wanted one is not among them", async () => {
    expect((await rollout("--control-plane-port", "grpc")).stderr).toContain(
      "it has no port grpc, name one with --control-plane-port (known are: http) or give its number",
    );
  });
});

/** A pod of the control plane on the node of the test, and its address in the Service. */
function manifestsOf(name: string, port: number): string {
  const namespace = "weir-system";
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: { nodeName: "near", containers: [{ name: "c", image: "i" }] },
  };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": "weir-control-plane-headless" } },
    addressType: "IPv4",
    ports: [{ name: "http", port }],
    endpoints: [
      { addresses: ["10.88.0.1"], targetRef: { kind: "Pod", name, namespace }, conditions: { ready: true } },
      {
        addresses: ["10.88.0.2"],
        targetRef: { kind: "Pod", name: "not-ready", namespace },
        conditions: { ready: false },
      },
    ],
  };
  return `${JSON.stringify(pod)}\n---\n${JSON.stringify(slice)}`;
}
