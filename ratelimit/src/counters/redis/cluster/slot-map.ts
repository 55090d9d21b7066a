// Maps each slot to the node that owns it, as far as known.
import { SLOT_COUNT } from "./hash-slot.ts";

/** A range of slots and the node that owns it. */
export interface NodeRange<Node> {
  readonly first: number;
  readonly last: number;
  readonly node: Node;
}

/** The map; empty at first. */
export class SlotMap<Node> {
  #owners: (Node | undefined)[] = emptyOwners();
  /** Slots without an owner. */
  #holes = SLOT_COUNT;

  /** True if each slot has an owner. */
  get isComplete(): boolean {
    return this.#holes === 0;
  }

  /** The owner of the slot; undefined when it has none or nothing is known yet. */
  ownerOf(slot: number): Node | undefined {
    return this.#owners[slot];
  }

  /** All nodes that own slots. */
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

  /** Sets the owner of one slot. */
  assign(slot: number, node: Node): void {
    if (this.#owners[slot] === undefined) this.#holes -= 1;
    this.#owners[slot] = node;
  }
}

function emptyOwners<Node>(): (Node | undefined)[] {
  return new Array<Node | undefined>(SLOT_COUNT).fill(undefined);
}
