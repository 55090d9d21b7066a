// One node with Weir for every test of a run that only uses it. vitest runs this before the first of them, in a process
// of its own; the tests get `inject("node")`.
import type { TestProject } from "vitest/node";

import type { NodePlace } from "./node-access.ts";
import { startInstalledNode } from "./product.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly node: NodePlace;
  }
}

/** Starts the node, and returns what ends it. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const node = await startInstalledNode();
  const { cluster, addresses, folder, cgroup } = node;
  const { url, caPem, adminToken, programs } = cluster;
  provide("node", { cluster: { url, caPem, adminToken, programs, folder: cluster.folder }, addresses, folder, cgroup });
  return async () => await node.stop();
}
