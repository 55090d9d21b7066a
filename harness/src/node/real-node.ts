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
import { CGROUPS, NodeAccess } from "./node-access.ts";
import { type NodeFamilies, type ReservedAddresses, reserveNodeAddresses } from "./node-addresses.ts";
import { COREDNS_IMAGE, coreDnsManifests, PAUSE_IMAGE, writeNodeFiles } from "./node-files.ts";

const run = promisify(execFile);

/** Longest wait for the node to run pods, in milliseconds: eleven seconds on an idle machine. */
const READY_TIMEOUT_MS = 180_000;

/** Starts a cluster with a node; resolves when it runs pods and its DNS answers. */
export async function startRealNode(families: NodeFamilies = "IPv4"): Promise<RealNode> {
  const addresses = await reserveNodeAddresses(families);
  const serviceRange = addresses.families.map((family) => family.serviceRange).join(",");
  const node = { ...addresses, serviceRange };
  const cluster = await startKubernetesCluster({ full: true, isAudited: true, node });
  const started = new RealNode(cluster, addresses);
  try {
    await started.start();
    return started;
  } catch (error) {
    const logs = started.logTails();
    await started.stop();
    throw new Error(`The node does not start. ${logs}`, { cause: error });
  }
}

/** A cluster with a node that runs pods. */
export class RealNode extends NodeAccess {
  override readonly cluster: KubernetesCluster;
  readonly #init: ServerProcess;
  readonly #release: () => void;

  constructor(cluster: KubernetesCluster, { release, ...addresses }: ReservedAddresses) {
    const folder = mkdtempSync(join(cluster.folder, "node-"));
    super({ cluster, addresses, folder, cgroup: `/weir-node-${process.pid}-${addresses.index}` });
    this.cluster = cluster;
    this.#release = release;
    const environment = {
      PROGRAMS: cluster.programs,
      STATE: folder,
      NODE_ADDRESSES: addresses.families.map(({ node, linkBits }) => `${node}/${linkBits}`).join(" "),
      HOST_ADDRESSES: addresses.families.map(({ host }) => host).join(" "),
      NODE_IPS: addresses.families.map(({ node }) => node).join(","),
      CGROUP: this.cgroup.slice(1),
    };
    const namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    this.#init = new ServerProcess({
      name: "the node",
      command: "/usr/bin/env",
      args: [
        ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        ...["unshare", ...namespaces, "--propagation", "private", "bash", join(ROOT, "harness/node/node.sh")],
      ],
      logPath: join(folder, "node.log"),
    });
  }

  /** Starts the programs and waits until pods run. */
  async start(): Promise<void> {
    writeNodeFiles(this);
    this.#init.start();
    await this.#connect();
    const images = await Promise.all([this.#pause(), this.#coreDns()]);
    await eventually("containerd", async () => await this.ctr("version"), READY_TIMEOUT_MS);
    for (const image of images) await this.importImages(image);
    await this.cluster.apply(coreDnsManifests(this.addresses.dns));
    await eventually("the node to be Ready", () => this.cluster.requireReadyNode(), READY_TIMEOUT_MS);
    await this.kubectl(["-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s"]);
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
    const { families, index } = this.addresses;
    const pid = await eventually("the namespaces of the node", () => {
      const [child] = childrenOf(this.#init.pid!);
      if (child === undefined) throw new Error("unshare has no child");
      return child;
    });
    const name = `weir-node-${index}`;
    await run("ip", ["link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", String(pid)]);
    for (const { host, linkBits } of families)
      await run("ip", ["addr", "add", `${host}/${linkBits}`, "dev", name, ...(linkBits === 64 ? ["nodad"] : [])]);
    await run("ip", ["link", "set", name, "up"]);
    for (const { block, node } of families) await run("ip", ["route", "add", block, "via", node]);
  }

  async #pause(): Promise<string> {
    const [source, program] = [join(ROOT, "harness/node/pause.c"), join(this.folder, "pause")];
    await run("cc", ["-O2", "-static", "-o", program, source]);
    return await programImage({ name: PAUSE_IMAGE, files: { "/pause": program } }, this.folder);
  }

  async #coreDns(): Promise<string> {
    return await programImage(
      { name: COREDNS_IMAGE, files: { "/coredns": findTool("coredns-1.12.1", "coredns") } },
      this.folder,
    );
  }

  #removeCgroups(): void {
    for (const controller of ["", ...readdirSync(CGROUPS)]) removeEmptyCgroup(join(CGROUPS, controller, this.cgroup));
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
