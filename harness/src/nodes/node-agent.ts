// Does for the nodes of a test cluster what kubelet and kube-proxy do: runs each pod that is scheduled, as
// processes of this machine, reports its status by its real probes, and makes Services and DNS work.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { fieldsOf, type Mapping, textOf } from "@weir/kubernetes/mapping";
import type { KubernetesCluster } from "../kubernetes/kubernetes-cluster.ts";

import type { Env } from "../processes/programs.ts";
import type { AddressBlock } from "./address-block.ts";
import { ClusterApi } from "../kubernetes/cluster-api.ts";
import { CLUSTER_DOMAIN, type ClusterDns, startClusterDns } from "./cluster-dns.ts";
import type { ReferencedData } from "./pod-environment.ts";
import { RunningPod } from "./running-pod.ts";
import { ServiceProxy } from "./service-proxy.ts";

/** Time between two looks at the cluster, in milliseconds. */
const INTERVAL_MS = 200;

/** Address of the nodes: not of the loopback network, which the API server takes for no pod. */
const NODE_ADDRESS = "198.18.0.0";

/** Starts the work for a cluster whose nodes nothing else plays. */
export async function startNodeAgent(cluster: KubernetesCluster, block: AddressBlock): Promise<NodeAgent> {
  const services = new ServiceProxy();
  const dns = await startClusterDns(block.dnsAddress, (name) => services.lookup(name));
  return new NodeAgent(cluster, block, { services, dns });
}

/** The agent of all nodes. */
export class NodeAgent {
  readonly api: ClusterApi;
  readonly dns: ClusterDns;
  /** Why the last look at the cluster failed; undefined when it did not. */
  problem: unknown;
  readonly #cluster: KubernetesCluster;
  readonly #block: AddressBlock;
  readonly #services: ServiceProxy;
  readonly #folder: string;
  readonly #pods = new Map<string, RunningPod>();
  readonly #unreported = new Set<RunningPod>();
  readonly #data: Record<keyof ReferencedData, Map<string, Env>> = { secret: new Map(), configMap: new Map() };
  readonly #end = new AbortController();
  readonly #ended: Promise<void>;

  constructor(
    cluster: KubernetesCluster,
    block: AddressBlock,
    parts: { readonly services: ServiceProxy; readonly dns: ClusterDns },
  ) {
    this.api = new ClusterApi(cluster);
    this.dns = parts.dns;
    this.#services = parts.services;
    this.#cluster = cluster;
    this.#block = block;
    this.#folder = join(cluster.folder, "pods");
    mkdirSync(this.#folder, { recursive: true });
    this.#ended = this.#follow();
  }

  /** The pods that run on this machine and have the label `app.kubernetes.io/name`, by name. */
  pods(program: string, namespace?: string): readonly RunningPod[] {
    return [...this.#pods.values()]
      .filter(
        (pod) => pod.labels["app.kubernetes.io/name"] === program && (namespace ?? pod.namespace) === pod.namespace,
      )
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  /** Ends every pod and the work; pods have no grace time. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#ended;
    await Promise.all([...this.#pods.values()].map((pod) => pod.stop(0)));
    await this.#services.close();
    this.dns.close();
    this.api.close();
    this.#block.release();
  }

  async #follow(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.#look();
        this.problem = undefined;
      } catch (error) {
        // The API server may be away for a while: everything continues as it is, as it does on a node.
        this.problem = error;
      }
      await delay(INTERVAL_MS);
    }
  }

  async #look(): Promise<void> {
    const [pods, secrets, configMaps, services, slices] = await Promise.all(
      [
        "/api/v1/pods",
        "/api/v1/secrets",
        "/api/v1/configmaps",
        "/api/v1/services",
        "/apis/discovery.k8s.io/v1/endpointslices",
      ].map((path) => this.api.list(path)),
    );
    for (const secret of secrets ?? []) this.#data.secret.set(...dataOf(secret, "base64"));
    for (const configMap of configMaps ?? []) this.#data.configMap.set(...dataOf(configMap, "utf8"));
    await this.#services.update(services ?? [], slices ?? []);
    for (const pod of pods ?? []) this.#followPod(pod);
    const uids = new Set((pods ?? []).map(uidOf));
    for (const [uid, pod] of this.#pods) if (!uids.has(uid)) this.#remove(uid, pod);
    for (const pod of this.#pods.values()) {
      await pod.refresh().catch(() => undefined); // A kubelet keeps the files when a Secret is gone.
      if (this.#unreported.delete(pod)) await this.#report(pod);
    }
  }

  #followPod(object: Mapping): void {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds } = fieldsOf(object["metadata"]);
    const known = this.#pods.get(String(uid));
    if (deletionTimestamp !== undefined) {
      void (known?.stop(Number(deletionGracePeriodSeconds)) ?? Promise.resolve()).then(() => this.#delete(object));
      return;
    }
    if (known !== undefined || textOf(fieldsOf(object["spec"])["nodeName"]) === undefined) return;
    const podAddress = this.#block.takePodAddress();
    const place = { podAddress, nodeAddress: NODE_ADDRESS, apiServer: new URL(this.#cluster.url) };
    const pod = new RunningPod(object, place, {
      sources: { api: this.api, data: this.#referencedData(), claims: join(this.#cluster.folder, "claims") },
      folder: this.#folder,
      resolvConf: (namespace) => this.#resolvConf(namespace),
      report: (changed) => this.#unreported.add(changed),
    });
    this.#pods.set(String(uid), pod);
    this.#unreported.add(pod);
    void pod.start();
  }

  #referencedData(): ReferencedData {
    return { secret: (name) => this.#data.secret.get(name), configMap: (name) => this.#data.configMap.get(name) };
  }

  #resolvConf(namespace: string): string {
    const path = join(this.#folder, `resolv-${namespace}.conf`);
    const search = [`${namespace}.svc.`, "svc.", ""].map((prefix) => prefix + CLUSTER_DOMAIN);
    const lines = [`nameserver ${this.dns.address}`, `search ${search.join(" ")}`, "options ndots:5"];
    writeFileSync(path, `${lines.join("\n")}\n`);
    return path;
  }

  async #report(pod: RunningPod): Promise<void> {
    const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/status`;
    const { status } = await this.api.send("PATCH", path, { metadata: { uid: pod.uid }, status: pod.status() });
    if (status >= 500) this.#unreported.add(pod); // Another pod of the name is 409, and no pod 404.
  }

  async #delete(object: Mapping): Promise<void> {
    const { namespace, name, uid } = fieldsOf(object["metadata"]);
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.api
      .send("DELETE", `/api/v1/namespaces/${String(namespace)}/pods/${String(name)}`, options)
      .catch(() => undefined); // The next look repeats it.
  }

  #remove(uid: string, pod: RunningPod): void {
    this.#pods.delete(uid);
    void pod.stop(0).then(() => this.#block.releasePodAddress(pod.address));
  }
}

function uidOf(object: Mapping): string {
  return String(fieldsOf(object["metadata"])["uid"]);
}

function dataOf(object: Mapping, encoding: BufferEncoding): [string, Env] {
  const { namespace, name } = fieldsOf(object["metadata"]);
  const entries = Object.entries(fieldsOf(object["data"]));
  const values = entries.map(([key, value]) => [key, Buffer.from(String(value), encoding).toString()] as const);
  return [`${String(namespace)}/${String(name)}`, Object.fromEntries(values)];
}
