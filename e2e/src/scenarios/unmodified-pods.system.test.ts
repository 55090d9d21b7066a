// Unmodified pods of envoyproxy/ratelimit at the control plane: its pings do not disturb them, and notice one that hangs.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ensureCertificates } from "@weir/dev/setup/certificates";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startEnvoyRatelimit } from "@weir/harness/servers/envoy-ratelimit";
import type { ListeningService } from "@weir/harness/servers/listening-service";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { type Replica, startReplica } from "@weir/harness/weir/replica";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Longest time until a pod that hangs leaves the report, in milliseconds. */
const NOTICED_MS = 15_000;

describe("unmodified pods", () => {
  const folder = makeTemporaryFolder();
  const pods: ListeningService[] = [];
  let redis: StoreServer | undefined;
  let replica: Replica;

  beforeAll(async () => {
    const manifests = join(folder.path, "manifests");
    mkdirSync(manifests);
    saveManifest(
      manifests,
      "mail.yaml",
      manifestOf("mail", "mail", [{ key: "user", rateLimit: { unit: "minute", requestsPerUnit: 2 } }]),
    );
    const certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    replica = await startReplica({ certificates, manifests });
    redis = await startRedis(folder.path);
    for (const id of ["edge/one", "edge/two"]) {
      const env = {
        REDIS_SOCKET_TYPE: "tcp",
        REDIS_URL: redis.address,
        CONFIG_TYPE: "GRPC_XDS_SOTW",
        CONFIG_GRPC_XDS_DELTA: "true", // As in data planes of the operator; they ignore it.
        CONFIG_GRPC_XDS_NODE_ID: id,
        CONFIG_GRPC_XDS_SERVER_URL: `localhost:${replica.adsPort}`,
        CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
        CONFIG_GRPC_XDS_SERVER_TLS_CACERT: certificates.ca.cert,
        CONFIG_GRPC_XDS_CLIENT_TLS_CERT: certificates.rateLimit.cert,
        CONFIG_GRPC_XDS_CLIENT_TLS_KEY: certificates.rateLimit.key,
      };
      pods.push(await startEnvoyRatelimit({ folder: folder.path, env }));
    }
  });

  afterAll(async () => {
    for (const { process } of pods) await process.stop("SIGTERM", 5000);
    await replica.process.stop("SIGTERM", 5000);
    await redis?.stop();
    folder.remove();
  });

  /** Id and connection of each pod that has the active version. */
  async function current(): Promise<readonly string[]> {
    const { pods: connected = [] } = await replica.rollout();
    return connected
      .filter(({ state }) => state === "POD_STATE_ACCEPTED")
      .map(({ nodeId, peer }) => `${nodeId} ${peer}`)
      .toSorted();
  }

  it("leave the report within 15 s when they hang, and keep their stream under pings otherwise", async () => {
    const [one] = pods;
    const before = await eventually("the ACK of both", async () => {
      const found = await current();
      expect(found).toHaveLength(2);
      return found;
    });
    await one!.process.pause();
    try {
      // One ping at least is not answered by then; those to the other pod are.
      await eventually(
        "the report without the pod",
        async () => expect(await current()).toEqual(before.slice(1)),
        NOTICED_MS,
      );
    } finally {
      one!.process.resume();
    }
    const after = await eventually("the ACK of both", async () => {
      const found = await current();
      expect(found).toHaveLength(2);
      return found;
    });
    expect(after[1]).toBe(before[1]);
  });
});
