// The nodes of a cluster to which connections stand or are made: one server each, from the moment
// at which the cluster names it until it has had neither slots nor questions for a while.
import type { KvstoreServer } from "../../server/server.ts";
import { type ClusterEndpoint, endpointText } from "./endpoint.ts";

/** Most nodes: the Redis cluster specification recommends no more than this. */
const NODES_MAX = 1_000;

/** A node. */
export interface ClusterNode {
  readonly server: KvstoreServer;
  /** When it was last known to have slots, or asked, in milliseconds since the epoch. */
  usedMs: number;
}

/** What it works with. */
export interface ClusterNodesDeps {
  /** Makes the server of a node; it is opened here. */
  readonly createServer: (endpoint: ClusterEndpoint) => KvstoreServer;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** How long a node without slots is kept after its last use, in milliseconds. */
  readonly keepMs: number;
}

/** The nodes by their endpoint. */
export class ClusterNodes {
  readonly #deps: ClusterNodesDeps;
  readonly #nodes = new Map<string, ClusterNode>();

  constructor(deps: ClusterNodesDeps) {
    this.#deps = deps;
  }

  /** Number of nodes. */
  get size(): number {
    return this.#nodes.size;
  }

  /** The servers to which a connection stands. */
  ready(): readonly KvstoreServer[] {
    return Array.from(this.#nodes.values(), ({ server }) => server).filter((server) => server.isReady);
  }

  /**
   * The node at the endpoint, which is used now; it begins to connect if it is new. Undefined when
   * there are too many.
   */
  at(endpoint: ClusterEndpoint): ClusterNode | undefined {
    const text = endpointText(endpoint);
    const usedMs = this.#deps.clock();
    const present = this.#nodes.get(text);
    if (present !== undefined) {
      present.usedMs = usedMs;
      return present;
    }
    if (this.#nodes.size >= NODES_MAX) return undefined;
    const node = { server: this.#deps.createServer(endpoint), usedMs };
    this.#nodes.set(text, node);
    node.server.open();
    return node;
  }

  /** Closes the nodes that have not been used for a while. */
  retire(): void {
    const nowMs = this.#deps.clock();
    for (const [text, node] of this.#nodes) {
      if (nowMs < node.usedMs) node.usedMs = nowMs; // The clock stepped back: begin to wait anew.
      if (nowMs - node.usedMs < this.#deps.keepMs) continue;
      this.#nodes.delete(text);
      node.server.close();
    }
  }

  /** Closes all nodes. */
  close(): void {
    for (const { server } of this.#nodes.values()) server.close();
    this.#nodes.clear();
  }
}
