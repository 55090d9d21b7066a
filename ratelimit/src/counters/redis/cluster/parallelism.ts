// The number of groups of one call that may be in flight. A group here is what goes to one node;
// envoyproxy/ratelimit groups by key, which stores the same numbers with more commands.

/**
 * The number for KVSTORE_CLUSTER_PIPELINE_PARALLELISM and a pool of so many connections: 1 = one
 * group after the other, 0 = as many as the pool has connections, and never more than that.
 */
export function effectiveParallelism(configured: number, poolSize: number): number {
  const most = Math.max(1, poolSize);
  return configured === 0 ? most : Math.min(configured, most);
}
