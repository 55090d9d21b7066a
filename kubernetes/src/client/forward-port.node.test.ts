// Tests of forward-port.ts through the API server and the kubelet of a node.
import { text } from "node:stream/consumers";

import { NodeAccess } from "@weir/harness/node/node-access";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

import { type ClusterAccess, openClusterAccess } from "../access/cluster-access.ts";
import { forwardPort } from "./forward-port.ts";

/** Longer than any buffer on the way. */
const LONG = "0123456789abcdef".repeat(256 * 1024);

const NAMESPACE = "forward";
const PORT = 8000;
const CLOSED_PORT = 8001;

/** Answers with everything that it was sent up to the first line break, and ends; prints each connection and its end. */
const SERVER = `require("net").createServer((socket) => {
  let received = "";
  socket.on("error", () => undefined);
  console.log("opened");
  socket.on("close", () => console.log("closed"));
  socket.on("data", (data) => {
    received += data;
    if (received.endsWith("\\n")) socket.end("got " + received);
  });
}).listen(${PORT}, "127.0.0.1")`;

const node = new NodeAccess(inject("node"));
const options = { timeoutMs: 20_000, signal: new AbortController().signal };
let access: ClusterAccess;

beforeAll(async () => {
  access = await openClusterAccess({ kind: "kubeconfig", paths: [node.cluster.kubeconfigPath] }, Date.now);
  await node.kubectl(["create", "namespace", NAMESPACE]);
  const metadata = { name: "gone", namespace: NAMESPACE };
  await node.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "gone" }, spec: { unschedulable: true } });
  const status = {
    addresses: [{ type: "InternalIP", address: node.addresses.host }],
    daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
  };
  await node.kubectl([
    "patch",
    "node",
    "gone",
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify({ status }),
  ]);
  const containers = [{ name: "c", image: await node.imageOf("weir-control-plane"), command: ["node", "-e", SERVER] }];
  await node.apply({ apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName: "gone", containers } });
  await node.apply({ apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "there" }, spec: { containers } });
  await node.kubectl(["wait", "--for=condition=Ready", "pod/there", "-n", NAMESPACE, "--timeout=100s"]);
});

afterAll(async () => {
  await node.kubectl(["delete", "node", "gone", "--ignore-not-found"]);
  await node.kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
});

async function forward(pod: string, port: number): ReturnType<typeof forwardPort> {
  return await forwardPort(access, { namespace: NAMESPACE, pod, port }, options);
}

/** Connections to the pod that were opened or closed. */
async function linesOf(event: "opened" | "closed"): Promise<number> {
  return (await node.kubectl(["logs", "there", "-n", NAMESPACE])).split(event).length - 1;
}

describe("forwardPort()", () => {
  it("carries bytes both ways, and ends when the pod ends the connection", async () => {
    const stream = await eventually("the server to listen", async () => {
      const opened = await forward("there", PORT);
      opened.write("a\n");
      expect(await text(opened)).toBe("got a\n");
      return await forward("there", PORT);
    });
    stream.write(LONG);
    stream.write("\n");
    expect(await text(stream)).toBe(`got ${LONG}\n`);
  });

  it("ends the pod's connection when the stream is destroyed", async () => {
    const before = await linesOf("closed");
    const stream = await forward("there", PORT);
    await eventually("the connection", async () => expect(await linesOf("opened")).toBe(before + 1));
    stream.destroy();
    await eventually("its end", async () => expect(await linesOf("closed")).toBe(before + 1));
  });

  it("fails with the words of the kubelet when nothing listens on the port", async () => {
    const stream = await forward("there", CLOSED_PORT);
    await expect(text(stream)).rejects.toMatchObject({
      name: "ApiFailure",
      message: expect.stringMatching(
        /^Cannot get pods\/portforward there: the kubelet says "error forwarding port 8001 .*connection refused/,
      ) as string,
    });
  });

  it.each([
    { pod: "none", kind: "absent", message: 'pods "none" not found' },
    { pod: "gone", kind: "unavailable", message: "connection refused" },
  ])("fails with the words of the API server for the pod $pod", async ({ pod, kind, message }) => {
    await expect(forward(pod, 1)).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(message) as string,
    });
  });

  it("names the right that is missing", async () => {
    await node.kubectl(["create", "serviceaccount", "powerless", "-n", NAMESPACE]);
    const token = await node.kubectl(["create", "token", "powerless", "-n", NAMESPACE]);
    const powerless: ClusterAccess = {
      ...access,
      forRequest: async () => ({
        ...(await access.forRequest()),
        headers: { authorization: `Bearer ${token.trim()}` },
      }),
    };
    await expect(
      forwardPort(powerless, { namespace: NAMESPACE, pod: "there", port: PORT }, options),
    ).rejects.toMatchObject({
      kind: "forbidden",
      message: expect.stringContaining('lacks the verb "get" on "pods/portforward"') as string,
    });
  });
});
