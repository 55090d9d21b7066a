// The shares that groups of callers hold of something scarce. At each level of their networks (see
// caller-group.ts) groups take turns, and the one that holds the most makes place for one that holds less: so
// a caller with many addresses of one network has the share of one.

/** A network, or the whole: networks in it, or at the narrowest level the members. */
interface Share<T> {
  weight: number;
  /** In the order of their next turns. */
  readonly networks: Map<string, Share<T>>;
  /** The weight of each, in the order of arrival. */
  readonly members: Map<T, number>;
}

/** Members by the networks of their callers, from wide to narrow. */
export class FairShares<T> {
  readonly #all: Share<T> = emptyShare();

  /** The weight of all members. */
  get weight(): number {
    return this.#all.weight;
  }

  add(networks: readonly string[], member: T, weight = 1): void {
    let share = this.#all;
    share.weight += weight;
    for (const network of networks) {
      share = share.networks.getOrInsertComputed(network, emptyShare<T>);
      share.weight += weight;
    }
    share.members.set(member, (share.members.get(member) ?? 0) + weight);
  }

  /** Removes a member with its weight; without effect when it is none. */
  remove(networks: readonly string[], member: T): void {
    const path = this.#pathOf(networks);
    const narrowest = path.at(-1);
    const weight = narrowest?.members.get(member);
    if (narrowest === undefined || weight === undefined) return;
    narrowest.members.delete(member);
    for (const share of path) share.weight -= weight;
    this.#forgetEmpty(path, networks);
  }

  /** Removes and returns the member whose turn it is: networks take turns at each level, callers of one by arrival. */
  next(): T | undefined {
    const networks: string[] = [];
    let share = this.#all;
    for (let [first] = share.networks; first !== undefined; [first] = share.networks) {
      const [network, narrower] = first;
      share.networks.delete(network);
      share.networks.set(network, narrower); // Behind all others.
      networks.push(network);
      share = narrower;
    }
    const [member] = share.members.keys();
    if (member !== undefined) this.remove(networks, member);
    return member;
  }

  /** After how many turns, its own included, a member would have its own that comes now; each member weighs 1. */
  turnsUntil(networks: readonly string[]): number {
    const path = this.#pathOf(networks);
    let turns = (path[networks.length]?.weight ?? 0) + 1;
    for (let level = networks.length - 1; level >= 0; level--) {
      let ahead = turns;
      let isBefore = true; // Each network has one turn per cycle, those behind this one have one less before it.
      for (const [network, { weight }] of path[level]?.networks ?? [])
        if (network === networks[level]) isBefore = false;
        else ahead += Math.min(weight, isBefore ? turns : turns - 1);
      turns = ahead;
    }
    return turns;
  }

  /**
   * The member that must make place for one of `weight`: in the widest network that holds more than that
   * one's own would, the one with the most weight, the newest of equals. Undefined when there is none: then
   * no other has too much.
   */
  toDisplace(networks: readonly string[], weight = 1): T | undefined {
    let share: Share<T> | undefined = this.#all;
    for (const network of networks) {
      const largest = largestOf(share.networks);
      const own = share.networks.get(network);
      if (largest !== undefined && largest !== own && largest.weight > (own?.weight ?? 0) + weight)
        return heaviestOf(largest);
      if (own === undefined) return undefined;
      share = own;
    }
    return undefined;
  }

  /** The whole and the networks that hold something, from wide to narrow. */
  #pathOf(networks: readonly string[]): readonly Share<T>[] {
    const path = [this.#all];
    for (const network of networks) {
      const share = path.at(-1)?.networks.get(network);
      if (share === undefined) break;
      path.push(share);
    }
    return path;
  }

  #forgetEmpty(path: readonly Share<T>[], networks: readonly string[]): void {
    const empty = path.findIndex(({ weight }, level) => level > 0 && weight === 0);
    if (empty > 0) path[empty - 1]?.networks.delete(networks[empty - 1] ?? "");
  }
}

function emptyShare<T>(): Share<T> {
  return { weight: 0, networks: new Map(), members: new Map() };
}

function largestOf<T>(networks: ReadonlyMap<string, Share<T>>): Share<T> | undefined {
  let largest: Share<T> | undefined;
  for (const share of networks.values()) if (share.weight >= (largest?.weight ?? 0)) largest = share;
  return largest;
}

function heaviestOf<T>(share: Share<T>): T | undefined {
  let narrowest = share;
  for (let next = largestOf(share.networks); next !== undefined; next = largestOf(next.networks)) narrowest = next;
  let heaviest: readonly [member: T, weight: number] | undefined;
  for (const entry of narrowest.members) if (entry[1] >= (heaviest?.[1] ?? 0)) heaviest = entry;
  return heaviest?.[0];
}
