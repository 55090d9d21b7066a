// How many groups of one call may be under way at a time. The reference groups commands by key; a
// group here is what goes to one node, for its commands can be sent together: the numbers stored
// are the same, the commands fewer.

/**
 * The number for KVSTORE_CLUSTER_PIPELINE_PARALLELISM and a pool of so many connections: 1 = one
 * group after the other, 0 = as many as the pool has connections, and never more than that.
 */
export function effectiveParallelism(configured: number, poolSize: number): number {
  const most = Math.max(1, poolSize);
  return configured === 0 ? most : Math.min(configured, most);
}
