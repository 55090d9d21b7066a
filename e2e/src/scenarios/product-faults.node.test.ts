// Faults of each part of an installed Weir under steady traffic: none costs more than its stated failure mode. The
// test prints a table of what each one cost; docs/faults.md explains it.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type FaultRun, startFaultRun } from "@weir/harness/node/fault-run";
import { clusterFaults, disturbances, processFaults, storeFaults } from "@weir/harness/node/faults";

/** How long a process stands still, in milliseconds. */
const PAUSE_MS = 2000;

/** How long Redis does, in milliseconds: longer than a command may take. */
const STORE_PAUSE_MS = 5000;

/** How long the API server is away at least, in milliseconds. */
const API_SERVER_AWAY_MS = 1000;

/** Edits at least. */
const EDITS_MIN = 30;

/** Time limit of all faults of one group, in milliseconds. */
const GROUP_TEST_MS = 600_000;

/** Longest time from `helm install` to the first limited request, in milliseconds. */
const FIRST_LIMITED_MS = 40_000;

describe("faults under load", () => {
  let faults: FaultRun | undefined;

  beforeAll(async () => {
    faults = await startFaultRun();
  });

  afterAll(async () => {
    process.stdout.write(`${faults?.table() ?? ""}\n`);
    await faults?.stop();
  });

  it("do not begin before a request is limited, soon after the installation", () => {
    process.stdout.write(`First limited request after ${faults!.firstLimitedMs} ms\n`);
    expect(faults!.firstLimitedMs).toBeLessThanOrEqual(FIRST_LIMITED_MS);
  });

  it.each(["processes", "the counter store", "the cluster"] as const)(
    "of %s cost nothing but the stated failure mode",
    async (group) => {
      const { node, product } = faults!;
      const all = {
        processes: () => processFaults(product, PAUSE_MS),
        "the counter store": () => storeFaults(product, STORE_PAUSE_MS),
        "the cluster": () => clusterFaults(product, node.cluster, API_SERVER_AWAY_MS),
      };
      for (const fault of all[group]()) await faults!.run(fault);
    },
    GROUP_TEST_MS,
  );

  it(
    "and restarts leave no ready pod with an older limit than an edit that is Ready",
    async () => {
      const { stale, ...counts } = await faults!.editDuring(disturbances(faults!.product), EDITS_MIN);
      process.stdout.write(`Ready edits, asked of every pod: ${JSON.stringify(counts)}, stale: ${stale.length}\n`);
      expect(stale).toEqual([]);
    },
    GROUP_TEST_MS,
  );
});
