// The nodes, in the order that decides which key is on which node. A new list replaces the old one in
// one step; nodes in both keep their connections.
import { crc32 } from "node:zlib";
import { ServiceError } from "@weir/common/errors/service-error";
import type { StoreError } from "../store-error.ts";
import type { MemcachedNode } from "./node.ts";
import { type NodeAddress, parseNodeAddress } from "./node-address.ts";
import { STORE } from "./store-errors.ts";

/**
 * The index in a list of `count` nodes: CRC32-IEEE of the key's UTF-8 bytes, modulo. Every pod must
 * choose the same node, those of envoyproxy/ratelimit included.
 */
export function nodeIndex(key: string, count: number): number {
  return count === 1 ? 0 : crc32(key) % count;
}

/** Makes a node and begins to connect it. */
export type OpenNode = (address: NodeAddress) => MemcachedNode;

/** The list; empty at first. */
export class NodeList {
  readonly #open: OpenNode;
  /** In the order of the list; a node that is listed twice is twice in it. */
  #nodes: readonly MemcachedNode[] = [];
  /** Each node once, by its address. */
  #byAddress: ReadonlyMap<string, MemcachedNode> = new Map();
  /** Nodes that are no longer listed and still have pending commands. */
  readonly #retiring = new Set<MemcachedNode>();

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
    return [...this.all].filter(({ isReady }) => isReady).length;
  }

  /**
   * Applies another list; nodes that are not in it end with `leavingError`. Fails with
   * STORE_ADDRESS_INVALID, and changes nothing, when a word in it is not an address.
   */
  replace(words: readonly string[], leavingError: StoreError): void {
    const addresses = words.map(addressOf);
    const before = this.#byAddress;
    const byAddress = new Map<string, MemcachedNode>();
    this.#nodes = addresses.map((address) =>
      byAddress.getOrInsertComputed(address.text, (text) => before.get(text) ?? this.#open(address)),
    );
    this.#byAddress = byAddress;
    for (const [text, node] of before) {
      if (byAddress.has(text)) continue;
      this.#retiring.add(node);
      void node.retire(leavingError).then(() => this.#retiring.delete(node));
    }
  }

  /** Resolves when no node has a pending increment. */
  async drain(): Promise<void> {
    await Promise.all([...this.all, ...this.#retiring].map((node) => node.drain()));
  }

  /** Closes every node. */
  close(error: StoreError): void {
    for (const node of [...this.all, ...this.#retiring]) node.close(error);
  }
}

function addressOf(word: string): NodeAddress {
  const address = parseNodeAddress(word);
  if (address !== undefined) return address;
  throw new ServiceError("STORE_ADDRESS_INVALID", `Cannot use ${word} as a node of ${STORE}: it is not host:port`);
}
