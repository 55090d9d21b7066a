// The resources that a client subscribes to in the state-of-the-world protocol: every request has
// the full list of names, and an empty list means all, until a name was sent once. Pure.

/** All resources, in a list of names. */
const WILDCARD = "*";

export interface Subscription {
  /**
   * "legacy": all, because no name was ever sent on this stream; "explicit": all, because the list
   * holds `*`; "none": only the names.
   */
  readonly wildcard: "legacy" | "explicit" | "none";
  readonly names: ReadonlySet<string>;
}

/** The subscription after a request with these names; `current`: undefined at the first one. */
export function nextSubscription(current: Subscription | undefined, requested: readonly string[]): Subscription {
  const neverNamed = current === undefined || current.wildcard === "legacy";
  if (requested.length === 0 && neverNamed) return { wildcard: "legacy", names: new Set() };
  const names = new Set(requested);
  const wildcard = names.delete(WILDCARD) ? "explicit" : "none";
  return { wildcard, names };
}

/** Returns true if the client wants all resources. */
export function isWildcard(subscription: Subscription): boolean {
  return subscription.wildcard !== "none";
}

/** Returns true if the client wants the resource of this name. */
export function wants(subscription: Subscription, name: string): boolean {
  return isWildcard(subscription) || subscription.names.has(name);
}

/** The resources that a client adds to its subscription: all, or some names. */
export function growthOf(before: Subscription | undefined, after: Subscription): "all" | ReadonlySet<string> {
  if (isWildcard(after)) return before === undefined || !isWildcard(before) ? "all" : new Set();
  return new Set([...after.names].filter((name) => before === undefined || !wants(before, name)));
}
