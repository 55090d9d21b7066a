// Faults of an installed Weir that take a minute, hit several parts at once, or fail the counter store over. The test
// prints a table of what each one cost; docs/faults.md explains it.
import { sendCommand, startRedis, startSentinel } from "@weir/harness/servers/redis";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { FAULT_COMMAND_TIMEOUT, FAULT_FILTER, type FaultRun, startFaultRun } from "@weir/harness/nodes/fault-run";
import {
  clusterFaults,
  failoverFaults,
  longFaults,
  processFaults,
  type SentinelServers,
} from "@weir/harness/nodes/faults";
import { type Product, startProduct } from "@weir/harness/nodes/product-fixture";

/** How long processes stand still, in milliseconds. */
const PAUSE_MS = 20_000;

/** How long the API server is away, in milliseconds. */
const API_SERVER_AWAY_MS = 60_000;

/** Silence after which the sentinel fails over, in milliseconds. */
const SENTINEL_PATIENCE_MS = "2000";

/** Longest time from the installation to the first limited request, in milliseconds. */
const FIRST_LIMITED_MS = 60_000;

describe("long faults under load", () => {
  const folder = makeTemporaryFolder();
  let redis: SentinelServers | undefined;
  let product: Product | undefined;
  let faults: FaultRun | undefined;

  beforeAll(async () => {
    redis = await startFailover(folder.path);
    product = await startProduct({
      filter: FAULT_FILTER,
      commandTimeout: FAULT_COMMAND_TIMEOUT,
      redis: { type: "sentinel", sentinel: { primary: "mymaster", addresses: [redis.sentinel.address] } },
    });
    faults = await startFaultRun(product);
  });

  afterAll(async () => {
    await faults?.stop();
    process.stdout.write(`${faults?.table() ?? ""}\n`);
    await product?.stop();
    for (const server of redis === undefined ? [] : [redis.sentinel, ...redis.nodes]) await server.stop();
    folder.remove();
  });

  it("limited the first request within a minute of the installation", () => {
    expect(product!.laps["the first request was limited"]).toBeLessThanOrEqual(FIRST_LIMITED_MS);
  });

  it.each(["processes", "several parts", "the cluster", "the counter store"] as const)(
    "of %s cost nothing but the stated failure mode",
    async (group) => {
      const all = {
        processes: () => processFaults(product!, PAUSE_MS),
        "several parts": () => longFaults(product!, API_SERVER_AWAY_MS),
        "the cluster": () => clusterFaults(product!, API_SERVER_AWAY_MS),
        "the counter store": () => failoverFaults(redis!, PAUSE_MS),
      };
      for (const fault of all[group]()) await faults!.run(fault);
    },
  );
});

/** A primary, a replica, and a sentinel that fails over soon. */
async function startFailover(folder: string): Promise<SentinelServers> {
  const primary = await startRedis(folder);
  const replica = await startRedis(folder, { flags: ["--replicaof", "127.0.0.1", String(primary.port)] });
  const sentinel = await startSentinel(folder, primary.port);
  await sendCommand(sentinel, "SENTINEL", "SET", "mymaster", "down-after-milliseconds", SENTINEL_PATIENCE_MS);
  await sendCommand(sentinel, "SENTINEL", "SET", "mymaster", "failover-timeout", "10000");
  return { nodes: [primary, replica], sentinel };
}
