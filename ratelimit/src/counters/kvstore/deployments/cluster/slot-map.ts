// Which node has each slot, as far as known. Nodes are whatever its owner makes of endpoints; keys
// are the matter of hash-slot.ts.
import { SLOT_COUNT } from "./hash-slot.ts";

/** A range of slots and the node that has them. */
export interface NodeRange<Node> {
  readonly first: number;
  readonly last: number;
  readonly node: Node;
}

/** The map; empty at first. */
export class SlotMap<Node> {
  #owners: (Node | undefined)[] = emptyOwners();
  /** Slots without a node. */
  #holes = SLOT_COUNT;

  /** Whether each slot has a node. */
  get isComplete(): boolean {
    return this.#holes === 0;
  }

  /** The node that has the slot; undefined where the cluster has a hole or nothing is known yet. */
  ownerOf(slot: number): Node | undefined {
    return this.#owners[slot];
  }

  /** All nodes that have slots. */
  nodes(): Set<Node> {
    const nodes = new Set<Node>();
    for (const owner of this.#owners) if (owner !== undefined) nodes.add(owner);
    return nodes;
  }

  /** Replaces the map. Where ranges overlap, the later one counts. */
  replace(ranges: readonly NodeRange<Node>[]): void {
    const owners = emptyOwners<Node>();
    for (const { first, last, node } of ranges) owners.fill(node, first, last + 1);
    this.#owners = owners;
    this.#holes = owners.reduce((holes, owner) => (owner === undefined ? holes + 1 : holes), 0);
  }

  /** Notes that one slot has another node now. */
  assign(slot: number, node: Node): void {
    if (this.#owners[slot] === undefined) this.#holes -= 1;
    this.#owners[slot] = node;
  }
}

function emptyOwners<Node>(): (Node | undefined)[] {
  return new Array<Node | undefined>(SLOT_COUNT).fill(undefined);
}
