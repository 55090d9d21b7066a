// Faults of an installed Weir that take a minute, hit several parts at once, or fail the counter store over. The test
// prints a table of what each one cost; docs/faults.md explains it.
import { sendCommand, startRedis, startSentinel } from "@weir/harness/servers/redis";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type FaultRun, startFaultRun } from "@weir/harness/node/fault-run";
import {
  clusterFaults,
  disturbances,
  failoverFaults,
  longFaults,
  processFaults,
  type SentinelServers,
} from "@weir/harness/node/faults";

/** How long processes stand still, in milliseconds. */
const PAUSE_MS = 20_000;

/** How long the API server is away, in milliseconds. */
const API_SERVER_AWAY_MS = 60_000;

/** Edits at least. */
const EDITS_MIN = 300;

/** Silence after which the sentinel fails over, in milliseconds. */
const SENTINEL_PATIENCE_MS = "2000";

describe("long faults under load", () => {
  const folder = makeTemporaryFolder();
  let redis: SentinelServers | undefined;
  let faults: FaultRun | undefined;

  beforeAll(async () => {
    faults = await startFaultRun(async (host) => {
      redis = await startFailover(folder.path, host);
      return { type: "sentinel", sentinel: { primary: "mymaster", addresses: [redis.sentinel.address] } };
    });
  });

  afterAll(async () => {
    process.stdout.write(`${faults?.table() ?? ""}\n`);
    await faults?.stop();
    for (const server of redis === undefined ? [] : [redis.sentinel, ...redis.nodes]) await server.stop();
    folder.remove();
  });

  it.each(["processes", "several parts", "the cluster", "the counter store"] as const)(
    "of %s cost nothing but the stated failure mode",
    async (group) => {
      const { node, product } = faults!;
      const all = {
        processes: () => processFaults(product, PAUSE_MS),
        "several parts": () => longFaults(product, node.cluster, API_SERVER_AWAY_MS),
        "the cluster": () => clusterFaults(product, node.cluster, API_SERVER_AWAY_MS),
        "the counter store": () => failoverFaults(redis!, PAUSE_MS),
      };
      for (const fault of all[group]()) await faults!.run(fault);
    },
  );

  it("and restarts leave no ready pod with an older limit than an edit that is Ready", async () => {
    const { stale, ...counts } = await faults!.editDuring(disturbances(faults!.product), EDITS_MIN);
    process.stdout.write(`Ready edits, asked of every pod: ${JSON.stringify(counts)}, stale: ${stale.length}\n`);
    expect(stale).toEqual([]);
  });
});

/** A primary, a replica, and a sentinel that fails over soon. */
async function startFailover(folder: string, host: string): Promise<SentinelServers> {
  const primary = await startRedis(folder, { host });
  const replica = await startRedis(folder, { host, flags: ["--replicaof", host, String(primary.port)] });
  const sentinel = await startSentinel(folder, primary.port, { host });
  await sendCommand(sentinel, "SENTINEL", "SET", "mymaster", "down-after-milliseconds", SENTINEL_PATIENCE_MS);
  await sendCommand(sentinel, "SENTINEL", "SET", "mymaster", "failover-timeout", "10000");
  return { nodes: [primary, replica], sentinel };
}
