// Distributes connections over workers: a new one goes to the worker with the fewest, and after a
// restart the surplus of the others is closed, so that its clients connect again.

/** The index of the smallest number; the first of several. -1 when there is none. */
export function indexOfFewest(connections: readonly number[]): number {
  let fewest = -1;
  for (const [index, count] of connections.entries())
    if (fewest === -1 || count < (connections[fewest] ?? 0)) fewest = index;
  return fewest;
}

/** How many connections each worker must close for all to be even within one. */
export function surplusOf(connections: readonly number[]): readonly number[] {
  const total = connections.reduce((sum, count) => sum + count, 0);
  const share = Math.floor(total / Math.max(1, connections.length));
  const order = connections.map((_, index) => index).sort((a, b) => (connections[b] ?? 0) - (connections[a] ?? 0));
  // The remainder of the division stays where most connections are.
  const remainder = new Set(order.slice(0, total - share * connections.length));
  return connections.map((count, index) => Math.max(0, count - share - (remainder.has(index) ? 1 : 0)));
}
