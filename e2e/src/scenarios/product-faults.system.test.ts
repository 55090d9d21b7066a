// Faults of each part of an installed Weir under steady traffic: none costs more than its stated failure mode. The
// test prints a table of what each one cost; docs/faults.md explains it.
import { afterAll, beforeAll, describe, it } from "vitest";

import { FAULT_COMMAND_TIMEOUT, FAULT_FILTER, type FaultRun, startFaultRun } from "@weir/harness/nodes/fault-run";
import { clusterFaults, processFaults, storeFaults } from "@weir/harness/nodes/faults";
import { type Product, startProduct } from "@weir/harness/nodes/product-fixture";

/** How long a process stands still, in milliseconds. */
const PAUSE_MS = 2000;

/** How long Redis does, in milliseconds: longer than a command may take. */
const STORE_PAUSE_MS = 5000;

/** How long the API server is away at least, in milliseconds. */
const API_SERVER_AWAY_MS = 1000;

/** Time limit of all faults of one group, in milliseconds. */
const GROUP_TEST_MS = 600_000;

describe("faults under load", () => {
  let product: Product | undefined;
  let faults: FaultRun | undefined;

  beforeAll(async () => {
    product = await startProduct({ filter: FAULT_FILTER, commandTimeout: FAULT_COMMAND_TIMEOUT });
    faults = await startFaultRun(product);
  });

  afterAll(async () => {
    await faults?.stop();
    process.stdout.write(`${faults?.table() ?? ""}\n`);
    await product?.stop();
  });

  it.each(["processes", "the counter store", "the cluster"] as const)(
    "of %s cost nothing but the stated failure mode",
    async (group) => {
      const all = {
        processes: () => processFaults(product!, PAUSE_MS),
        "the counter store": () => storeFaults(product!, STORE_PAUSE_MS),
        "the cluster": () => clusterFaults(product!, API_SERVER_AWAY_MS),
      };
      for (const fault of all[group]()) await faults!.run(fault);
    },
    GROUP_TEST_MS,
  );
});
