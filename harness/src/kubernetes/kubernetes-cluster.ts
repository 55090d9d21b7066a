// A real API server over a real etcd, for tests, with controllers and nodes on request. On free ports
// of 127.0.0.1, with certificates and state in a folder of its own.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../processes/eventually.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { reservePorts } from "../processes/reserve-ports.ts";
import { auditFlags } from "./audit-log.ts";
import { runToEnd } from "../processes/run-to-end.ts";
import { ClusterAccess } from "./cluster-access.ts";
import { clusterProgram, createControllers, nodeManifests } from "./cluster-controllers.ts";
import { writeClusterFiles } from "./cluster-files.ts";
import { apiServerArguments, etcdArguments } from "./server-arguments.ts";

/**
 * Longest wait for the API server to be ready, in milliseconds: three to six seconds on an idle
 * machine.
 */
const READY_TIMEOUT_MS = 120_000;

/** Without a step that takes a second, and that only pods need. */
const READY_PATH = "/readyz?exclude=poststarthook%2Fscheduling%2Fbootstrap-system-priority-classes";

/** Longest time of a first build of the programs, in milliseconds. */
const BUILD_TIMEOUT_MS = 40 * 60_000;

/** Versions of the API server and controllers that `make soak` builds, as folders of harness/kubernetes. */
export const OTHER_VERSIONS = ["1.31", "1.34"] as const;

/** Options of a cluster, which by default is etcd and an API server. */
export interface ClusterOptions {
  /** The version of the API server and controllers when it is not that of all other tests. */
  readonly version?: (typeof OTHER_VERSIONS)[number];
  /** Logs what the accounts of Weir ask for, for audit(). */
  readonly isAudited?: boolean;
  /**
   * Starts kube-controller-manager, kube-scheduler and kwok with two nodes too, so that Deployments get
   * pods that become ready. 0.6 GB of memory in all.
   */
  readonly full?: boolean;
  /** Addresses at which a real node finds the API server; without them kwok plays the nodes of a full cluster. */
  readonly node?: { readonly host: string; readonly apiService: string; readonly serviceRange: string };
}

/** Starts etcd and an API server with further flags, and resolves when it is ready. */
export async function startKubernetesCluster(options: ClusterOptions = {}): Promise<KubernetesCluster> {
  const parts = await prepare(options);
  const cluster = new KubernetesCluster(parts, {
    ...options,
    controllers: options.full === true ? await createControllers(parts, options.node === undefined) : [],
  });
  try {
    cluster.etcd.start();
    await cluster.startApiServer();
    await cluster.startControllers();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/** A running cluster. Its two servers can be ended and started again one by one. */
export class KubernetesCluster extends ClusterAccess {
  /** Its state survives a kill. */
  readonly etcd: ServerProcess;
  /** Started again by {@link startApiServer}. */
  readonly apiServer: ServerProcess;
  /** kube-controller-manager, kube-scheduler and kwok of a full cluster; otherwise empty. */
  readonly controllers: readonly ServerProcess[];
  readonly #etcdUrl: string;
  readonly #node: ClusterOptions["node"];

  constructor(
    parts: Awaited<ReturnType<typeof prepare>>,
    { isAudited = false, controllers, node }: ClusterOptions & { readonly controllers: readonly ServerProcess[] },
  ) {
    const { programs, folder, apiPort, etcdPort, peerPort, token, ca } = parts;
    super({ url: `https://127.0.0.1:${apiPort}`, caPem: ca, adminToken: token, folder, programs });
    this.controllers = controllers;
    this.#node = node;
    this.#etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const args = etcdArguments(folder, this.#etcdUrl, `http://127.0.0.1:${peerPort}`);
    this.etcd = clusterProgram(parts, "etcd", args);
    this.apiServer = clusterProgram(parts, "kube-apiserver", [
      ...apiServerArguments(folder, apiPort, this.#etcdUrl, node),
      ...(isAudited ? auditFlags(folder) : []),
    ]);
  }

  /**
   * Copies the state of the running etcd, as a snapshot of its disk does. The function stops both
   * servers, puts the copy in the place of the state, and starts both; it can be called once.
   */
  async backUpEtcd(): Promise<() => Promise<void>> {
    const [state, backup] = [join(this.folder, "etcd"), join(this.folder, "etcd-backup")];
    await this.etcd.pause();
    try {
      cpSync(state, backup, { recursive: true });
    } finally {
      this.etcd.resume();
    }
    return async () => {
      await this.apiServer.kill();
      await this.etcd.kill();
      rmSync(state, { recursive: true });
      renameSync(backup, state);
      this.etcd.start();
      await this.startApiServer();
    };
  }

  /**
   * Starts the API server (again) on the same port and waits until it is ready. As often as
   * necessary: while it was away another test may have been given that port.
   */
  async startApiServer(): Promise<void> {
    this.api.close(); // Its connections are to the one before.
    const attempt = async (): Promise<void> => {
      if (this.apiServer.pid === undefined) this.apiServer.start();
      const { status } = await this.api.send("GET", READY_PATH);
      if (status !== 200) throw new Error(`${READY_PATH} answered ${status}`);
    };
    try {
      await eventually("the API server to be ready", attempt, READY_TIMEOUT_MS);
    } catch (cause) {
      throw new Error(`The API server does not start. ${this.apiServer.logTail()}`, { cause });
    }
  }

  /** Starts the controllers of a full cluster, and resolves when pods can be created and have nodes. */
  async startControllers(): Promise<void> {
    if (this.controllers.length === 0) return;
    for (const controller of this.controllers) controller.start();
    if (this.#node === undefined) await this.apply(nodeManifests());
    const attempt = async (): Promise<void> => {
      await this.run(["get", "serviceaccount", "default"]);
      if (this.#node === undefined) await this.requireReadyNode();
    };
    try {
      await eventually("the controllers to work", attempt, READY_TIMEOUT_MS);
    } catch (cause) {
      const logs = this.controllers.map((controller) => controller.logTail()).join("\n");
      throw new Error(`The controllers do not start. ${logs}`, { cause });
    }
  }

  /** Compacts etcd to its last revision, so that earlier watches get 410. */
  async compact(): Promise<void> {
    const environment = ["--endpoints", this.#etcdUrl, "--dial-timeout=60s", "--command-timeout=60s"];
    const etcdctl = join(this.programs, "etcdctl");
    const status = await runToEnd(etcdctl, [...environment, "endpoint", "status", "--write-out=json"]);
    const [{ Status }] = JSON.parse(status.stdout) as [{ Status: { header: { revision: number } } }];
    const result = await runToEnd(etcdctl, [...environment, "compact", String(Status.header.revision)]);
    if (result.code !== 0) throw new Error(`etcdctl compact failed: ${result.stderr.trim()}`);
  }

  /** Ends the servers and removes the folder. */
  async stop(): Promise<void> {
    await Promise.all(this.controllers.map(async (controller) => controller.kill()));
    await this.apiServer.kill();
    await this.etcd.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Prepares the programs, ports and files of a cluster. The script prints the folder of the programs, which
 * are built on the first call on a machine and kept in the cache folder; fails with what the build said.
 */
async function prepare({ node, version }: ClusterOptions) {
  const script = join(import.meta.dirname, "../../kubernetes/build.sh");
  const { stdout } = await promisify(execFile)("sh", [script, version ?? ""], { timeout: BUILD_TIMEOUT_MS });
  const [apiPort = 0, etcdPort = 0, peerPort = 0] = await reservePorts(3);
  const folder = mkdtempSync(join(tmpdir(), "weir-kubernetes-"));
  const token = randomBytes(16).toString("hex");
  const addresses = node === undefined ? [] : [node.host, node.apiService];
  const ca = await writeClusterFiles(folder, apiPort, token, addresses);
  return { programs: stdout.trim(), folder, apiPort, etcdPort, peerPort, token, ca };
}
