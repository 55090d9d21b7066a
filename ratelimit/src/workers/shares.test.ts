// Tests the share that each process of a service with workers may take.
import { describe, expect, it } from "vitest";
import { parseSettings } from "../settings.ts";
import { shareOf } from "./shares.ts";

const ENV = {
  BACKEND_TYPE: "kvstore",
  KVSTORE_URL: "/run/redis.sock",
  KVSTORE_POOL_SIZE: "9",
  KVSTORE_PERSECOND: "true",
  KVSTORE_PERSECOND_URL: "/run/other.sock",
  KVSTORE_PERSECOND_POOL_SIZE: "3",
  LOCAL_CACHE_SIZE_IN_BYTES: "1000",
  STATS_MAX_DYNAMIC_KEYS: "500",
};

describe("shareOf()", () => {
  it.each([
    { role: "worker", workers: 4, pool: 2, perSecond: 1, cache: 200, keys: 100 },
    { role: "worker", workers: 16, pool: 1, perSecond: 1, cache: 58, keys: 29 },
    { role: "parent", workers: 4, pool: 1, perSecond: 1, cache: 200, keys: 500 },
  ] as const)("divides by $workers for a $role", ({ role, workers, pool, perSecond, cache, keys }) => {
    expect(shareOf(parseSettings(ENV), workers, role)).toMatchObject({
      backend: { main: { poolSize: pool }, perSecond: { poolSize: perSecond } },
      decide: { localCacheSizeBytes: cache },
      statistics: { maxDynamicKeys: keys },
    });
  });
});
