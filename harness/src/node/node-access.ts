// Access to a cluster with a real node, from any process of this machine: kubectl, helm, pods and their processes.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { CHARTS, helm } from "../helm/helm.ts";
import { ClusterAccess } from "../kubernetes/cluster-access.ts";
import type { ClusterPlace } from "../kubernetes/cluster-api.ts";
import { eventually } from "../processes/eventually.ts";
import { pauseProcess } from "../processes/pause-process.ts";
import type { NodeAddresses } from "./node-addresses.ts";

const run = promisify(execFile);

/** Namespace of the release. */
export const SYSTEM_NAMESPACE = "weir-system";

/** Controllers of cgroups, version 1; in version 2 there is one hierarchy. */
export const CGROUPS = "/sys/fs/cgroup";

/** Longest output of a command, in bytes. */
const OUTPUT_MAX_BYTES = 1 << 28;

/** Longest time until a container that has ended again and again is started again, in milliseconds: the kubelet waits for five minutes. */
const RESTART_MAX_MS = 330_000;

/** Label that the charts give to the pods of a program. */
const NAME_LABEL = "app.kubernetes.io/name";

/** Cluster, addresses, folder and cgroup of a node; plain data, so that one process can pass it to another. */
export interface NodePlace {
  readonly cluster: ClusterPlace;
  readonly addresses: NodeAddresses;
  /** Folder of containerd, kubelet and their logs. */
  readonly folder: string;
  /** Cgroup of every pod. */
  readonly cgroup: string;
}

/** A pod, as the API server describes it. */
export interface NodePod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  /** Empty before it has one. */
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly phase: string;
  readonly isReady: boolean;
  /** Restarts of all containers. */
  readonly restarts: number;
  /** Why each container ended last, such as `OOMKilled` or `Completed`. */
  readonly endReasons: readonly string[];
}

/** A node that runs. */
export class NodeAccess implements NodePlace {
  readonly cluster: ClusterAccess;
  readonly addresses: NodeAddresses;
  readonly folder: string;
  readonly cgroup: string;

  constructor({ cluster, addresses, folder, cgroup }: NodePlace) {
    this.cluster = new ClusterAccess(cluster);
    this.addresses = addresses;
    this.folder = folder;
    this.cgroup = cgroup;
  }

  /** Runs kubectl as the user who may do everything; fails with what it said. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    return await this.cluster.run(args, input);
  }

  /** The same as a service account, with its rights alone. */
  async as(account: string, namespace: string): Promise<NodeAccess> {
    const adminToken = await this.cluster.tokenOf(account, namespace);
    const folder = mkdtempSync(join(this.folder, `${account}-`));
    writeFileSync(join(folder, "kubeconfig"), this.cluster.kubeconfig({}, adminToken));
    const { cluster, addresses, cgroup } = this;
    const place = { url: cluster.url, caPem: cluster.caPem, programs: cluster.programs, adminToken, folder };
    return new NodeAccess({ cluster: place, addresses, folder: this.folder, cgroup });
  }

  /** Makes Secrets of a namespace, by name. */
  async makeSecrets(namespace: string, secrets: Readonly<Record<string, object>>): Promise<void> {
    for (const [name, stringData] of Object.entries(secrets))
      await this.apply({ apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData });
  }

  /** The texts of a Secret. */
  async secret(namespace: string, name: string): Promise<Readonly<Record<string, string>>> {
    const { body } = await this.cluster.api.send("GET", `/api/v1/namespaces/${namespace}/secrets/${name}`);
    const data = Object.entries(fieldsOf(body["data"]));
    return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(String(value), "base64").toString()]));
  }

  /** Applies an object, in its own namespace. */
  async apply(object: object): Promise<void> {
    await this.kubectl(["apply", "-f", "-"], JSON.stringify(object));
  }

  /** Installs the charts of this repository, with the values that they come with but for `flags`; nothing is awaited. */
  async install(charts = CHARTS, ...flags: readonly string[]): Promise<void> {
    await this.helm("install", "weir-crds", join(charts, "weir-crds"), "--create-namespace");
    await this.helm("install", "weir", join(charts, "weir"), ...flags);
  }

  /** Runs helm in the namespace of the release; returns its output. */
  async helm(...args: readonly string[]): Promise<string> {
    const { folder, kubeconfigPath } = this.cluster;
    const namespace = args.includes("--namespace") ? [] : ["--namespace", SYSTEM_NAMESPACE];
    // Its caches, and those of the API, are in the folder of the cluster.
    const homes = ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"];
    const env = Object.fromEntries(homes.map((name) => [name, folder]));
    const { code, stdout, stderr } = await helm([...args, ...namespace, "--kubeconfig", kubeconfigPath], "", { env });
    if (code !== 0) throw new Error(`helm ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  }

  /** The pods of a program that are not being deleted, such as `weir-operator`; in all namespaces without one. */
  async pods(program: string, namespace?: string): Promise<readonly NodePod[]> {
    return await this.podsBy(`${NAME_LABEL}=${program}`, namespace);
  }

  /** The pods with these labels that are not being deleted. */
  async podsBy(labels: string, namespace?: string): Promise<readonly NodePod[]> {
    const path = namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;
    const found = await this.cluster.api.list(`${path}?labelSelector=${encodeURIComponent(labels)}`);
    return found.filter((pod) => fieldsOf(pod["metadata"])["deletionTimestamp"] === undefined).map(toPod);
  }

  /** The pod as it is now. */
  async pod({ name, namespace }: NodePod): Promise<NodePod> {
    return toPod((await this.cluster.api.send("GET", `/api/v1/namespaces/${namespace}/pods/${name}`)).body);
  }

  /** The image of a program of Weir, such as `weir-operator`. */
  async imageOf(program: string): Promise<string> {
    const path = "jsonpath={.spec.template.spec.containers[0].image}";
    return await this.kubectl(["get", "deployment", program, "-n", SYSTEM_NAMESPACE, "-o", path]);
  }

  /** The log of a pod that is there, or of its earlier container. */
  async logs({ name, namespace }: NodePod, ...flags: readonly string[]): Promise<string> {
    return await this.kubectl(["logs", "-n", namespace, name, ...flags]);
  }

  /** Processes of a pod, as this machine numbers them; without the one that holds its namespaces. */
  processesOf({ uid }: NodePod): readonly number[] {
    const root = join(CGROUPS, "pids", this.cgroup);
    const found = readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((path) => path.includes(`pod${uid}`) && path.endsWith("cgroup.procs"))
      .flatMap((path) => readFileSync(join(root, path), "utf8").split("\n").filter(Boolean).map(Number));
    return found.filter((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "pause");
  }

  /** Sends a signal to every process of a pod; after SIGSTOP resolves when all of them are stopped. */
  async signal(pod: NodePod, signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): Promise<void> {
    for (const pid of this.processesOf(pod))
      if (signal === "SIGSTOP") await pauseProcess(pid);
      else process.kill(pid, signal);
  }

  /**
   * Drops every packet between a pod and this port of others, without a word to either end; the returned function ends
   * that.
   */
  async dropPackets(pod: NodePod, port: number): Promise<() => Promise<void>> {
    const [pid] = this.processesOf(pod);
    const nft = async (...command: readonly string[]): Promise<void> => {
      await run("nsenter", ["--net", "--target", String(pid), "nft", ...command]);
    };
    const chain = (hook: string, side: string): string =>
      `chain ${hook} { type filter hook ${hook} priority 0; tcp ${side} ${port} drop; };`;
    await nft(`table inet fault { ${chain("input", "sport")} ${chain("output", "dport")} }`);
    return async () => await nft("delete", "table", "inet", "fault");
  }

  /** Kills the processes of all these pods, and resolves when the kubelet has started them again. */
  async kill(...pods: readonly NodePod[]): Promise<void> {
    for (const pod of pods) await this.signal(pod, "SIGKILL");
    await Promise.all(pods.map((pod) => this.restarted(pod, RESTART_MAX_MS)));
  }

  /** Resolves when a container of the pod was started again. */
  async restarted(pod: NodePod, timeoutMs?: number): Promise<void> {
    const attempt = async (): Promise<void> => {
      const { restarts } = await this.pod(pod);
      if (restarts <= pod.restarts) throw new Error(`${restarts} restarts`);
    };
    await eventually(`the restart of ${pod.name}`, attempt, timeoutMs);
  }

  /** Imports the images of an archive; returns how long this took, in milliseconds. */
  async importImages(archive: string): Promise<number> {
    const startedMs = performance.now();
    await this.ctr("images", "import", archive);
    return Math.round(performance.now() - startedMs);
  }

  /** Gives the images of Weir another tag in place of theirs. */
  async retagImages(tag: string): Promise<void> {
    const names = (await this.ctr("images", "list", "--quiet"))
      .split("\n")
      .filter((name) => name.includes("/weir-dev/"));
    for (const name of names) await this.ctr("images", "tag", name, name.replace(/[^:]*$/, tag));
    await this.ctr("images", "remove", ...names);
  }

  /** Runs the client of containerd, and returns what it prints. */
  protected async ctr(...args: readonly string[]): Promise<string> {
    const own = ["--address", join(this.folder, "containerd.sock"), "--namespace", "k8s.io"];
    return (await run("ctr", [...own, ...args], { maxBuffer: OUTPUT_MAX_BYTES })).stdout;
  }
}

function toPod(pod: Mapping): NodePod {
  const { metadata, status } = { metadata: fieldsOf(pod["metadata"]), status: fieldsOf(pod["status"]) };
  const containers = mappingsOf(status["containerStatuses"]);
  const ready = mappingsOf(status["conditions"]).find(({ type }) => type === "Ready");
  return {
    name: textAt(metadata["name"]),
    namespace: textAt(metadata["namespace"]),
    uid: textAt(metadata["uid"]),
    address: textAt(status["podIP"]),
    labels: fieldsOf(metadata["labels"]) as Readonly<Record<string, string>>,
    phase: textAt(status["phase"]),
    isReady: ready?.["status"] === "True",
    restarts: containers.reduce((sum, { restartCount }) => sum + Number(restartCount), 0),
    endReasons: containers.flatMap(({ lastState, state }) =>
      [state, lastState].map((each) => textAt(fieldsOf(fieldsOf(each)["terminated"])["reason"])).filter(Boolean),
    ),
  };
}

function textAt(value: unknown): string {
  return textOf(value) ?? "";
}
