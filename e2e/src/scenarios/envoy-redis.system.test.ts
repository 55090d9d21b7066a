// Envoy → pod → real redis-server; and two pods over one redis-server, which must count as one.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Weir, manifestOf, startWeir } from "@weir/harness/weir/weir";
import type { Pod } from "@weir/harness/weir/pod";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { describeEnvoy } from "./envoy.suite.ts";

describeEnvoy("counters in Redis", async (folder) => {
  const redis = await startRedis(folder);
  return { podEnv: redisEnv(redis), stop: () => redis.stop() };
});

describe("two pods over one Redis", () => {
  const folder = makeTemporaryFolder();
  let redis: StoreServer | undefined;
  let flow: Weir | undefined;
  let pods: readonly Pod[];

  beforeAll(async () => {
    redis = await startRedis(folder.path);
    flow = await startWeir(folder.path, {
      manifests: {
        "shared.yaml": manifestOf("shared", "shared", [
          { key: "user", rateLimit: { unit: "day", requestsPerUnit: 10 } },
        ]),
      },
    });
    pods = [
      await flow.startPod({ ...redisEnv(redis), CONFIG_GRPC_XDS_NODE_ID: "default/one" }),
      await flow.startPod({ ...redisEnv(redis), CONFIG_GRPC_XDS_NODE_ID: "default/two" }),
    ];
  });

  afterAll(async () => {
    await flow?.stop();
    await redis?.stop();
    folder.remove();
  });

  it("share one counter when requests alternate between them", async () => {
    const statuses: number[] = [];
    for (let request = 0; request < 14; request++)
      statuses.push(await pods[request % 2]!.ask("shared", { user: "alternating" }));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 429, 429, 429, 429]);
  });

  it("share one counter when requests reach both at the same time", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 60 }, (_, request) => pods[request % 2]!.ask("shared", { user: "at-once" })),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(50);
  });

  it("keep their counters in Redis, with an expiry", async () => {
    await pods[0]!.ask("shared", { user: "stored" });
    const keys = (await sendCommand(redis!, "KEYS", "shared_user_stored_*"))
      .split("\r\n")
      .filter((line) => line.startsWith("shared_user"));
    expect(keys).toHaveLength(1);
    expect(await sendCommand(redis!, "GET", keys[0]!)).toBe("$1\r\n1\r\n");
    const seconds = Number((await sendCommand(redis!, "TTL", keys[0]!)).slice(1));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(24 * 60 * 60 + 300); // A day, and the jitter that spreads deletions.
  });

  it("continue the count of the others when one pod is gone", async () => {
    const third = await flow!.startPod({ ...redisEnv(redis!), CONFIG_GRPC_XDS_NODE_ID: "default/three" });
    for (let request = 0; request < 6; request++) await third.ask("shared", { user: "handed-over" });
    await third.process.stop("SIGTERM", 5000);
    const statuses: number[] = [];
    for (let request = 0; request < 6; request++) statuses.push(await pods[0]!.ask("shared", { user: "handed-over" }));
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  });
});

function redisEnv(redis: StoreServer): Record<string, string> {
  const place = { BACKEND_TYPE: "redis", REDIS_TYPE: "SINGLE", REDIS_SOCKET_TYPE: "tcp", REDIS_URL: redis.address };
  return { ...place, KVSTORE_COMMAND_TIMEOUT: "20s" }; // The machine of a test may be busy.
}
