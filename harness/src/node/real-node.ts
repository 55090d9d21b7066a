// A whole Kubernetes with one real node: the cluster of kubernetes-cluster.ts, and containerd, kubelet, kube-proxy and CoreDNS
// in a network, mount and PID namespace of their own. Tests reach the addresses of pods and Services, and pods those of tests at
// the address `host`. Needs root, and the Debian packages that tools/test/test-setup.ts installs.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { type KubernetesCluster, startKubernetesCluster } from "../kubernetes/kubernetes-cluster.ts";
import { eventually } from "../processes/eventually.ts";
import { childrenOf } from "../processes/processes.ts";
import { ROOT } from "../processes/programs.ts";
import { ServerProcess } from "../processes/server-process.ts";
import { findTool } from "../processes/tools.ts";
import { programImage } from "./image-archives.ts";
import { type NodeAddresses, reserveNodeAddresses } from "./node-addresses.ts";
import { COREDNS_IMAGE, coreDnsManifests, PAUSE_IMAGE, writeNodeFiles } from "./node-files.ts";

const run = promisify(execFile);

/** Longest wait for the node to run pods, in milliseconds: eleven seconds on an idle machine. */
const READY_TIMEOUT_MS = 180_000;

/** Longest output of a command, in bytes. */
const OUTPUT_MAX_BYTES = 1 << 28;

/** Controllers of cgroups, version 1; in version 2 there is one hierarchy. */
const CGROUPS = "/sys/fs/cgroup";

/** Starts a cluster with a node; resolves when it runs pods and its DNS answers. */
export async function startRealNode(): Promise<RealNode> {
  const addresses = await reserveNodeAddresses();
  const cluster = await startKubernetesCluster({ full: true, node: addresses });
  const node = new RealNode(cluster, addresses);
  try {
    await node.start();
    return node;
  } catch (error) {
    const logs = node.logTails();
    await node.stop();
    throw new Error(`The node does not start. ${logs}`, { cause: error });
  }
}

/** A cluster with a node that runs pods. */
export class RealNode {
  readonly cluster: KubernetesCluster;
  readonly addresses: NodeAddresses;
  /** Folder of containerd, kubelet and their logs. */
  readonly folder: string;
  readonly #cgroup: string;
  readonly #init: ServerProcess;
  readonly #release: () => void;

  constructor(cluster: KubernetesCluster, addresses: NodeAddresses & { readonly release: () => void }) {
    this.cluster = cluster;
    this.addresses = addresses;
    this.folder = mkdtempSync(join(cluster.folder, "node-"));
    this.#cgroup = `/weir-node-${process.pid}-${addresses.index}`;
    this.#release = addresses.release;
    const environment = {
      PROGRAMS: cluster.programs,
      STATE: this.folder,
      NODE_ADDRESS: addresses.node,
      HOST_ADDRESS: addresses.host,
      CGROUP: this.#cgroup.slice(1),
    };
    const namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];
    this.#init = new ServerProcess({
      name: "the node",
      command: "/usr/bin/env",
      args: [
        ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        ...["unshare", ...namespaces, "bash", join(ROOT, "harness/node/node.sh")],
      ],
      logPath: join(this.folder, "node.log"),
    });
  }

  /** Starts the programs and waits until pods run. */
  async start(): Promise<void> {
    writeNodeFiles({ folder: this.folder, addresses: this.addresses, cgroup: this.#cgroup }, this.cluster);
    this.#init.start();
    await this.#connect();
    const images = await Promise.all([this.#pause(), this.#coreDns()]);
    await eventually("containerd", async () => await this.#ctr("version"), READY_TIMEOUT_MS);
    for (const image of images) await this.importImages(image);
    await this.cluster.apply(coreDnsManifests(this.addresses.dns));
    await eventually(
      "the node to be Ready",
      async () => {
        const { stdout, stderr } = await this.cluster.kubectl(["get", "nodes", "--no-headers"]);
        if (!stdout.includes(" Ready ")) throw new Error(stdout + stderr);
      },
      READY_TIMEOUT_MS,
    );
    await this.kubectl(["-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s"]);
  }

  /** Runs kubectl as the user who may do everything; fails with what it said. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.cluster.kubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  }

  /** Imports the images of an archive; returns how long this took, in milliseconds. */
  async importImages(archive: string): Promise<number> {
    const startedMs = performance.now();
    await this.#ctr("images", "import", archive);
    return Math.round(performance.now() - startedMs);
  }

  /** Processes of a pod, as this machine numbers them; without the one that holds its namespaces. */
  processesOf(podUid: string): readonly number[] {
    const [root] = [join(CGROUPS, "pids", this.#cgroup), join(CGROUPS, this.#cgroup)];
    const own = readdirSync(root!, { recursive: true, encoding: "utf8" })
      .filter((path) => path.includes(`pod${podUid}`) && path.endsWith("cgroup.procs"))
      .flatMap((path) => readFileSync(join(root!, path), "utf8").split("\n").filter(Boolean).map(Number));
    return own.filter((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "pause");
  }

  /** The ends of all logs, for failures. */
  logTails(): string {
    return readdirSync(this.folder)
      .filter((name) => name.endsWith(".log"))
      .map((name) => `${name}: ${readFileSync(join(this.folder, name), "utf8").slice(-1500)}`)
      .join("\n");
  }

  /** Ends the node with its pods, and the cluster. */
  async stop(): Promise<void> {
    await this.#init.kill(); // The kernel ends the namespaces with their first process, and the link with its network.
    await eventually("the end of every pod", () => {
      this.#removeCgroups();
    });
    await this.cluster.stop();
    this.#release();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Links the network of the node with that of the machine. */
  async #connect(): Promise<void> {
    const { host, node, block, index } = this.addresses;
    const pid = await eventually("the namespaces of the node", () => {
      const [child] = childrenOf(this.#init.pid!);
      if (child === undefined) throw new Error("unshare has no child");
      return child;
    });
    const name = `weir-node-${index}`;
    await run("ip", ["link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", String(pid)]);
    await run("ip", ["addr", "add", `${host}/24`, "dev", name]);
    await run("ip", ["link", "set", name, "up"]);
    await run("ip", ["route", "add", block, "via", node]);
  }

  async #pause(): Promise<string> {
    const [source, program] = [join(ROOT, "harness/node/pause.c"), join(this.folder, "pause")];
    await run("cc", ["-O2", "-static", "-o", program, source]);
    return await programImage({ name: PAUSE_IMAGE, files: [program] }, this.folder);
  }

  async #coreDns(): Promise<string> {
    return await programImage({ name: COREDNS_IMAGE, files: [findTool("coredns-1.12.1", "coredns")] }, this.folder);
  }

  async #ctr(...args: readonly string[]): Promise<void> {
    const own = ["--address", join(this.folder, "containerd.sock"), "--namespace", "k8s.io"];
    await run("ctr", [...own, ...args], { maxBuffer: OUTPUT_MAX_BYTES });
  }

  #removeCgroups(): void {
    for (const controller of ["", ...readdirSync(CGROUPS)]) removeEmptyCgroup(join(CGROUPS, controller, this.#cgroup));
  }
}

/** Removes a cgroup and those in it; fails while a process is in one. */
function removeEmptyCgroup(path: string): void {
  let entries;
  try {
    entries = readdirSync(path, { withFileTypes: true });
  } catch {
    return; // This controller has none of this name.
  }
  for (const entry of entries) if (entry.isDirectory()) removeEmptyCgroup(join(path, entry.name));
  rmdirSync(path);
}
