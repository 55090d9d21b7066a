// A real cluster of redis-server processes for integration tests: three primaries on 127.0.0.1 that
// share the slots evenly, and slots that are moved step by step, as a reshard does.
import { until } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { type CertificateFiles, clientMaterial } from "@weir/harness/servers/certificate-files";
import { Redis } from "ioredis";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { hashSlot, SLOT_COUNT } from "./hash-slot.ts";

/** Longest wait for the nodes to agree, in milliseconds. */
const AGREE_TIMEOUT_MS = 30_000;

/** Keys that one MIGRATE takes. */
const MIGRATE_KEYS = 100;
const MIGRATE_TIMEOUT_MS = 30_000;

/** Longer than any test, in milliseconds. */
const UNNOTICED_MS = 300_000;

/** The options of a cluster. */
export interface ClusterOptions {
  /** Number of primaries; default 3. A further one may join later with `joinEmpty`. */
  readonly nodes?: number;
  /** False starts servers that know nothing of clusters; they share nothing then. Default true. */
  readonly isCluster?: boolean;
  readonly password?: string;
  /** TLS on all ports. */
  readonly tls?: CertificateFiles;
  /**
   * Time after which the nodes take a silent one for failed, in milliseconds. By default longer than any
   * test: a node of a busy machine may be silent for a while, and then the cluster would be down.
   */
  readonly nodeTimeoutMs?: number;
  /** Arguments of every node. */
  readonly args?: readonly string[];
}

/** One node: its process, a connection for the test's own commands, and its name in the cluster. */
export interface ClusterNode {
  readonly server: StoreServer;
  /** The port for the other nodes. */
  readonly busPort: number;
  readonly client: Redis;
  readonly id: string;
}

/** A cluster under test. */
export class ClusterServers {
  readonly nodes: ClusterNode[];
  readonly #options: ClusterOptions;
  readonly #left: ClusterNode[] = [];

  constructor(nodes: readonly ClusterNode[], options: ClusterOptions) {
    this.nodes = [...nodes];
    this.#options = options;
  }

  /** All nodes, as KVSTORE_URL names them. */
  get url(): string {
    return this.nodes.map(({ server }) => server.address).join(",");
  }

  node(index: number): ClusterNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`The cluster has no node ${index}`);
    return node;
  }

  /**
   * A key of the given name whose slot was given to that node when the cluster was made; `suffix`
   * is what tests append to each key.
   */
  keyOn(index: number, name: string, suffix = ""): string {
    const [first, last] = rangeOf(index, this.#options.nodes ?? 3);
    for (let at = 0; ; at++) {
      const slot = hashSlot(`${name}-${at}${suffix}`);
      if (slot >= first && slot <= last) return `${name}-${at}`;
    }
  }

  /** Takes one more node in, which has no slots. */
  async joinEmpty(): Promise<ClusterNode> {
    const node = await startNode(this.#options);
    await meet(this.node(0), node);
    this.nodes.push(node);
    await this.agree();
    return node;
  }

  /** Makes a node without slots the replica of another, and waits until it has its data. */
  async replicate(replica: ClusterNode, primary: ClusterNode): Promise<void> {
    await replica.client.cluster("REPLICATE", primary.id);
    const isLinked = async (): Promise<boolean> =>
      (await replica.client.info("replication")).includes("master_link_status:up");
    await until(isLinked, AGREE_TIMEOUT_MS, "the replica has the data of its primary");
    await this.agree();
  }

  /** Takes a node that has no slots any more out of the cluster. It runs on, alone. */
  async leave(node: ClusterNode): Promise<void> {
    this.nodes.splice(this.nodes.indexOf(node), 1);
    this.#left.push(node);
    await node.client.cluster("RESET");
    for (const { client } of this.nodes) await client.cluster("FORGET", node.id);
    await this.agree();
  }

  /** Begins to move a slot: what the source has not, it says to ask the target for. */
  async beginMove(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    await to.client.cluster("SETSLOT", slot, "IMPORTING", from.id);
    await from.client.cluster("SETSLOT", slot, "MIGRATING", to.id);
  }

  /** Moves the keys that the source has by now. */
  async moveKeys(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    const auth = this.#options.password === undefined ? [] : ["AUTH", this.#options.password];
    for (;;) {
      const keys = await from.client.cluster("GETKEYSINSLOT", slot, MIGRATE_KEYS);
      if (keys.length === 0) return;
      await from.client.call(
        "MIGRATE",
        "127.0.0.1",
        to.server.port,
        "",
        0,
        MIGRATE_TIMEOUT_MS,
        ...auth,
        "KEYS",
        ...keys,
      );
    }
  }

  /**
   * Ends the move: the slot is the target's. The target receives it first, as the Redis cluster specification
   * asks. Then waits until the nodes agree: the next target takes an epoch above all that it has heard of,
   * and would lose its slot to a move of which it has not.
   */
  async endMove(slot: number, to: ClusterNode): Promise<void> {
    for (const { client } of [to, ...this.nodes.filter((node) => node !== to)])
      await client.cluster("SETSLOT", slot, "NODE", to.id);
    await this.agree();
  }

  /** Moves a slot with all its keys. */
  async moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    await this.beginMove(slot, from, to);
    await this.moveKeys(slot, from, to);
    await this.endMove(slot, to);
  }

  /**
   * Waits until the nodes say that the cluster is well, and the same of which node has which slots
   * since when.
   */
  async agree(nodes: readonly ClusterNode[] = this.nodes): Promise<void> {
    await until(
      async () => {
        const infos = await Promise.all(nodes.map(({ client }) => client.cluster("INFO").catch(String)));
        if (
          !infos.every(
            (info) => info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${this.nodes.length}`),
          )
        )
          return false;
        const views = await Promise.all(nodes.map(({ client }) => client.cluster("NODES").catch(String)));
        return new Set(views.map((view) => ownershipIn(String(view)))).size === 1;
      },
      AGREE_TIMEOUT_MS,
      `the nodes at ${nodes.map(({ server }) => server.address).join(", ")} agree`,
    );
  }

  /** Ends all nodes. */
  async close(): Promise<void> {
    const all = [...this.nodes, ...this.#left];
    for (const { client } of all) client.disconnect();
    await Promise.all(all.map(({ server }) => server.stop()));
  }
}

/** Starts a cluster. */
export async function startCluster(options: ClusterOptions = {}): Promise<ClusterServers> {
  const count = options.nodes ?? 3;
  const nodes = await Promise.all(Array.from({ length: count }, () => startNode(options)));
  const cluster = new ClusterServers(nodes, options);
  if (options.isCluster === false) return cluster;
  for (const [index, node] of nodes.entries()) {
    const [first, last] = rangeOf(index, count);
    await node.client.call("CLUSTER", "ADDSLOTSRANGE", first, last);
    await node.client.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
    if (index > 0) await meet(cluster.node(0), node);
  }
  await cluster.agree();
  return cluster;
}

/** The epochs and slots of the nodes in a reply to CLUSTER NODES, in one order. */
function ownershipIn(view: string): string {
  const lines = view.split("\n").map((line) => {
    const [id, , , , , , epoch, , ...slots] = line.split(" ");
    return [id, epoch, ...slots].join(" ");
  });
  return lines.toSorted().join("\n");
}

/** The slots of one of so many nodes. */
function rangeOf(index: number, nodes: number): readonly [first: number, last: number] {
  return [Math.ceil((SLOT_COUNT * index) / nodes), Math.ceil((SLOT_COUNT * (index + 1)) / nodes) - 1];
}

async function meet(known: ClusterNode, stranger: ClusterNode): Promise<void> {
  await stranger.client.call("CLUSTER", "MEET", "127.0.0.1", known.server.port, known.busPort);
}

async function startNode({
  password,
  tls,
  args = [],
  isCluster = true,
  nodeTimeoutMs = UNNOTICED_MS,
}: ClusterOptions): Promise<ClusterNode> {
  const busPort = await reservePort();
  // A primary that has given its last slot away stays one, so that the test decides what it is.
  const cluster = isCluster
    ? [
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        `${busPort}`,
        "--cluster-node-timeout",
        `${nodeTimeoutMs}`,
        "--cluster-allow-replica-migration",
        "no",
      ]
    : [];
  const auth = password === undefined ? [] : ["--requirepass", password, "--masterauth", password];
  const bus =
    tls === undefined
      ? []
      : [
          ...["--tls-cluster", "yes", "--tls-replication", "yes"],
          ...["--tls-client-cert-file", tls.clientCert, "--tls-client-key-file", tls.clientKey],
        ];
  const flags = [...cluster, ...auth, ...bus, ...args];
  const server = await startRedis(undefined, { flags, ...(tls !== undefined && { tls }) });
  const client = new Redis({
    host: "127.0.0.1",
    port: server.port,
    ...(password !== undefined && { password }),
    ...(tls !== undefined && { tls: clientMaterial(tls) }),
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  });
  client.on("error", () => undefined); // Nodes die in these tests; the client comes back by itself.
  return { server, busPort, client, id: isCluster ? String(await client.call("CLUSTER", "MYID")) : "" };
}
