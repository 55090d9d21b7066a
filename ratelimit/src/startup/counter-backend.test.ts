// Tests what all deployment types of the Redis backend do without any server.
import { silentLog } from "@weir/common/log/log";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { describe, expect, it } from "vitest";

import { serverOptions } from "../counters/redis/redis-counter.suite.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { createRedisBackend } from "./counter-backend.ts";

describe("createRedisBackend()", () => {
  it.each([
    { type: "single" as const, url: "127.0.0.1:1" },
    { type: "sentinel" as const, url: "primary,127.0.0.1:1" },
    { type: "cluster" as const, url: "127.0.0.1:1" },
  ])("start() fails immediately after stop(), for the type $type", async ({ type, url }) => {
    const backend = await createRedisBackend(
      {
        log: silentLog(),
        statistics: new StatisticsStore({ maxDynamicKeys: 10 }),
        monotonicMs: () => 0,
        turn: new TurnEnd(() => 0),
        random: () => 0,
        connections: () => undefined,
      },
      {
        main: serverOptions(url, { type }),
        perSecond: undefined,
        commandTimeoutMs: 1000,
        expiryJitterMaxSeconds: 0,
        usesScripts: true,
        startup: { initialMs: 1000, maxMs: 1000, maxElapsedMs: 0 },
      },
    );
    await backend.stop?.();
    await expect(backend.start?.()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("the backend is stopping"),
    });
  });
});
