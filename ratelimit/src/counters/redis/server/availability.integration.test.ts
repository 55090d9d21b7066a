// The availability of a server to which no new connection can be made.
import { join } from "node:path";
import { createLog } from "@weir/common/log/log";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, describe, expect, it } from "vitest";
import { StatisticsStore } from "../../../statistics/statistics-store.ts";
import { CommandBuffer } from "../connection/command-buffer.ts";
import { PoolStatistics } from "../connection/pool-statistics.ts";
import { Availability } from "./availability.ts";

const folder = makeTemporaryFolder();
afterAll(() => folder.remove());

describe("Availability", () => {
  it("replied() ends the silence, though no probe can be answered", () => {
    const lines: string[] = [];
    const deps = { statistics: new StatisticsStore({ maxDynamicKeys: 1 }), connections: () => undefined };
    const availability = new Availability(
      {
        target: () => ({
          target: { kind: "unix", path: join(folder.path, "nothing-listens.sock") },
          isTls: false,
          auth: undefined,
          database: 0,
          text: "unix://nothing-listens.sock",
        }),
        tls: undefined,
        commands: new CommandBuffer(),
        answered: () => expect.unreachable("no probe is answered"),
        log: createLog({ level: "info", format: "json", write: (line) => lines.push(line) }),
        statistics: new PoolStatistics(deps, "redis_pool"),
        monotonicMs: () => 0,
      },
      { timeoutMs: 1000 },
    );
    availability.ready();
    availability.silent({ key: "a", seconds: 60 });
    expect(availability.refusal(0)).toMatchObject({ code: "STORE_UNAVAILABLE" });
    availability.replied();
    expect(availability.refusal(0)).toBeUndefined();
    expect(lines.filter((line) => line.includes("The counter store answers again"))).toHaveLength(1);
    availability.closed(new Error("the test is over"));
  });
});
