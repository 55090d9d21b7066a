// The nodes of a cluster: one server each, from the moment when the cluster names it until it has
// had neither slots nor commands for a while.
import { formatAddress } from "@weir/common/net/listen";
import type { RedisAddress } from "../address.ts";
import type { RedisServer } from "../server/server.ts";
import type { ClusterEndpoint } from "./endpoint.ts";

/** Most nodes: the Redis cluster specification recommends no more than this. */
const NODES_MAX = 1_000;

export interface ClusterNode {
  readonly server: RedisServer;
  /** When it last had slots or received a command. */
  usedMs: number;
}

export interface ClusterNodesDeps {
  /** Makes the server of a node; ClusterNodes opens it. */
  readonly createServer: (endpoint: ClusterEndpoint) => RedisServer;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
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

  /** The addresses of the servers with a working connection. */
  connected(): readonly RedisAddress[] {
    return [...this.#nodes.values()].filter(({ server }) => server.isReady).map(({ server }) => server.address);
  }

  /**
   * The node at the endpoint, marked as used; a new one begins to connect. Undefined when there are
   * too many nodes.
   */
  at(endpoint: ClusterEndpoint): ClusterNode | undefined {
    const text = formatAddress(endpoint);
    const usedMs = this.#deps.monotonicMs();
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
    const nowMs = this.#deps.monotonicMs();
    for (const [text, node] of this.#nodes) {
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
