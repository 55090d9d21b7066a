// Tests of forward-port.ts through a real API server, which forwards to a kubelet of the test.
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";

import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type ClusterAccess, openClusterAccess } from "../access/cluster-access.ts";
import { type FakeKubelet, startFakeKubelet } from "@weir/harness/kubernetes/fake-kubelet";
import { forwardPort } from "./forward-port.ts";

/** Longer than any buffer on the way. */
const LONG = "0123456789abcdef".repeat(256 * 1024);

let cluster: KubernetesCluster;
let kubelet: FakeKubelet;
let access: ClusterAccess;
let server: Server;
const sockets = new Set<Socket>();
const options = { timeoutMs: 20_000, signal: new AbortController().signal };

beforeAll(async () => {
  [cluster, kubelet] = await Promise.all([startKubernetesCluster(), startFakeKubelet()]);
  access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
  // Answers with everything that it was sent up to the first line break, and ends.
  server = createServer((socket) => {
    sockets.add(socket);
    let received = "";
    socket.on("error", () => undefined); // Tests cut it.
    socket.on("data", (data) => {
      received += data.toString();
      if (received.endsWith("\n")) socket.end(`got ${received}`);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  await cluster.apply(
    [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } },
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "web" } },
      { apiVersion: "v1", kind: "Node", metadata: { name: "node" } },
      { apiVersion: "v1", kind: "Node", metadata: { name: "gone" } },
      ...["node", "gone"].map((nodeName) => ({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `on-${nodeName}`, namespace: "web" },
        spec: { nodeName, containers: [{ name: "c", image: "none" }] },
      })),
    ]
      .map((object) => JSON.stringify(object))
      .join("\n---\n"),
  );
  const [closedPort = 0] = await reservePorts(1);
  for (const [name, Port] of [
    ["node", kubelet.port],
    ["gone", closedPort],
  ] as const) {
    const status = {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port } },
    };
    const patch = [
      "patch",
      "node",
      name,
      "--subresource=status",
      "--type=merge",
      `--patch=${JSON.stringify({ status })}`,
    ];
    expect(await cluster.kubectl(patch)).toMatchObject({ code: 0 });
  }
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  server.close();
  await kubelet.close();
  await cluster.stop();
});

function port(): number {
  return (server.address() as AddressInfo).port;
}

describe("forwardPort()", () => {
  it("carries bytes both ways, and ends when the pod ends the connection", async () => {
    const stream = await forwardPort(access, { namespace: "web", pod: "on-node", port: port() }, options);
    stream.write(LONG);
    stream.write("\n");
    expect(await text(stream)).toBe(`got ${LONG}\n`);
    expect(kubelet.requests.at(-1)).toBe("/portForward/web/on-node v4.channel.k8s.io");
  });

  it("ends the pod's connection when the stream is destroyed", async () => {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const stream = await forwardPort(access, { namespace: "web", pod: "on-node", port: port() }, options);
    const [socket] = await accepted;
    const closed = once(socket, "close");
    stream.destroy();
    await closed;
  });

  it("fails with the words of the kubelet when nothing listens on the port", async () => {
    const [closedPort = 0] = await reservePorts(1);
    const stream = await forwardPort(access, { namespace: "web", pod: "on-node", port: closedPort }, options);
    await expect(text(stream)).rejects.toMatchObject({
      name: "ApiFailure",
      message: expect.stringMatching(
        /^Cannot get pods\/portforward on-node: the kubelet says "error forwarding port \d+: connect ECONNREFUSED/,
      ) as string,
    });
  });

  it.each([
    { pod: "none", kind: "absent", message: 'pods "none" not found' },
    { pod: "on-gone", kind: "unavailable", message: "connection refused" },
  ])("fails with the words of the API server for the pod $pod", async ({ pod, kind, message }) => {
    await expect(forwardPort(access, { namespace: "web", pod, port: 1 }, options)).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(message) as string,
    });
  });

  it("names the right that is missing", async () => {
    await cluster.apply(
      '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"powerless","namespace":"web"}}',
    );
    const { stdout } = await cluster.kubectl(["create", "token", "powerless", "-n", "web"]);
    const powerless: ClusterAccess = {
      ...access,
      forRequest: async () => ({
        ...(await access.forRequest()),
        headers: { authorization: `Bearer ${stdout.trim()}` },
      }),
    };
    await expect(forwardPort(powerless, { namespace: "web", pod: "on-node", port: 1 }, options)).rejects.toMatchObject({
      kind: "refused",
      message: expect.stringContaining('lacks the verb "get" on "pods/portforward"') as string,
    });
  });
});
