// The nodes in the order that decides which key lives where. A new list replaces the old one in one
// step; nodes that are in both keep their connections.
import { ServiceError } from "@weir/common/errors/service-error";
import type { StoreError } from "../store-error.ts";
import type { MemcachedNode } from "./node.ts";
import { nodeIndex } from "./node-choice.ts";
import { type NodeAddress, parseNodeAddress } from "./node-address.ts";

/** Makes a node and begins to connect it. */
export type OpenNode = (address: NodeAddress) => MemcachedNode;

/** The list; empty at first. */
export class NodeList {
  readonly #open: OpenNode;
  /** As listed: a node that is listed twice stands here twice. */
  #nodes: readonly MemcachedNode[] = [];
  /** Each node once, by its address. */
  #byAddress: ReadonlyMap<string, MemcachedNode> = new Map();
  /** Nodes that are in no list any more and still have something on its way. */
  readonly #leaving = new Set<MemcachedNode>();

  constructor(open: OpenNode) {
    this.#open = open;
  }

  /** Each node once. */
  get all(): Iterable<MemcachedNode> {
    return this.#byAddress.values();
  }

  /** The addresses in order. */
  get addresses(): readonly string[] {
    return this.#nodes.map(({ address }) => address.text);
  }

  /** The node of the key; undefined while the list is empty. */
  of(key: string): MemcachedNode | undefined {
    return this.#nodes[nodeIndex(key, this.#nodes.length)];
  }

  /** How many nodes are reachable. */
  countReady(): number {
    let count = 0;
    for (const node of this.#byAddress.values()) if (node.isReady) count += 1;
    return count;
  }

  /**
   * Takes another list. Fails with STORE_ADDRESS_INVALID, and changes nothing, when a word in it is
   * no address.
   */
  replace(words: readonly string[], leavingError: StoreError): void {
    const addresses = words.map((word) => {
      const address = parseNodeAddress(word);
      if (address === undefined)
        throw new ServiceError(
          "STORE_ADDRESS_INVALID",
          `Cannot use ${word} as a node of the alternative store: it is not host:port`,
        );
      return address;
    });
    const before = this.#byAddress;
    const byAddress = new Map<string, MemcachedNode>();
    this.#nodes = addresses.map((address) => {
      const node = byAddress.get(address.text) ?? before.get(address.text) ?? this.#open(address);
      byAddress.set(address.text, node);
      return node;
    });
    this.#byAddress = byAddress;
    for (const [text, node] of before) if (!byAddress.has(text)) this.#dismiss(node, leavingError);
  }

  /** Resolves when no increment is on its way to any node. */
  async drain(): Promise<void> {
    await Promise.all([...this.#byAddress.values(), ...this.#leaving].map((node) => node.drain()));
  }

  /** Closes every node. */
  close(error: StoreError): void {
    for (const node of [...this.#byAddress.values(), ...this.#leaving]) node.close(error);
  }

  #dismiss(node: MemcachedNode, error: StoreError): void {
    this.#leaving.add(node);
    void node.retire(error).then(() => this.#leaving.delete(node));
  }
}
