// Pods and the control plane of the previous version next to those of this one, behind
// a real Envoy and over one Redis: each is replaced under load, forward and back.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";
import { eventually } from "@weir/harness/processes/eventually";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BUILD_TIMEOUT_MS, buildPrevious } from "@weir/harness/weir/earlier-build";
import type { Envoy } from "@weir/harness/envoy/envoy";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { Guide } from "@weir/harness/pages/guide";
import { type Pod, startPod } from "@weir/harness/weir/pod";
import { anyPorts, ROOT } from "@weir/harness/processes/programs";
import { type Replica, startReplica } from "@weir/harness/weir/replica";
import { startRollingEnvoy, untilHealthy } from "@weir/harness/pages/rolling-envoy";
import { spend, startLoad } from "@weir/harness/weir/traffic";
import { startUpstream, type Upstream } from "@weir/harness/servers/upstream";

const GUIDE = new Guide("migrating.md");

/** Time limit of a step, in milliseconds. */
const STEP_TIMEOUT_MS = 240_000;

/** How long a program may take to stop, in milliseconds. */
const STOP_GRACE_MS = 30_000;

/** Answers before a step counts as taken under load. */
const LOAD_ANSWERS = 50;

/** How long a pod serves after SIGTERM: eight health checks of Envoy. */
const DRAIN = "2s";

/** The programs of which version. */
type Version = "previous" | "current";

describe("the previous version next to this one", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const roots: Record<Version, string> = { previous: "", current: ROOT };
  const pods: Pod[] = [];
  let podPorts: readonly number[] = [];
  let ports: Awaited<ReturnType<typeof anyPorts>>;
  let certificates: DevelopmentCertificates;
  let redis: StoreServer | undefined;
  let upstream: Upstream | undefined;
  let envoy: Envoy | undefined;
  let controlPlane: Replica | undefined;
  let limit = 10;

  beforeAll(async () => {
    roots.previous = await buildPrevious(process.env, "ratelimit", "control-plane");
    mkdirSync(manifests);
    save();
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    [redis, upstream] = [await startRedis(folder.path), await startUpstream()];
    [ports, podPorts] = [await anyPorts(), await reservePorts(2)];
    controlPlane = await launchControlPlane("previous");
    for (const index of [0, 1]) pods[index] = await launchPod(index, "previous");
    envoy = await startRollingEnvoy(GUIDE, {
      folder: folder.path,
      domain: "shop",
      podPorts,
      upstreamPort: upstream.port,
    });
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    await envoy?.stop();
    for (const { process } of pods) await process.stop("SIGTERM", STOP_GRACE_MS);
    await controlPlane?.process.stop("SIGTERM", STOP_GRACE_MS);
    await upstream?.stop();
    await redis?.stop();
    folder.remove();
  });

  it.each([
    { step: "today's control plane, yesterday's pods", user: "ada", roll: () => rollControlPlane("current") },
    { step: "today's pods one after the other", user: "grace", roll: () => rollPods("current") },
    { step: "yesterday's control plane, today's pods", user: "edsger", roll: () => rollControlPlane("previous") },
    { step: "yesterday's pods one after the other", user: "barbara", roll: () => rollPods("previous") },
  ])(
    "$step: no failed request, counters kept, an edit arrives",
    async ({ user, roll }) => {
      const asUser = { url: `${envoy!.url}/checkout`, user };
      const traffic = startLoad({ ...asUser, user: `load-${user}` });
      try {
        await traffic.answers(LOAD_ANSWERS);
        expect(await spend(asUser, limit - 4)).toEqual(Array<number>(limit - 4).fill(200));
        await roll();
        expect(await spend(asUser, 5)).toEqual([200, 200, 200, 200, 429]);
        await edit();
        expect(await spend(asUser, 2)).toEqual([200, 429]);
        await traffic.answers(LOAD_ANSWERS);
      } finally {
        expect(await traffic.stop()).toEqual({});
      }
    },
    STEP_TIMEOUT_MS,
  );

  async function rollControlPlane(version: Version): Promise<void> {
    await controlPlane!.process.stop("SIGTERM", STOP_GRACE_MS);
    controlPlane = await launchControlPlane(version);
  }

  async function rollPods(version: Version): Promise<void> {
    for (const [index, pod] of pods.entries()) {
      await pod.process.stop("SIGTERM", STOP_GRACE_MS);
      pods[index] = await launchPod(index, version);
      await untilHealthy(envoy!, pods.length);
    }
  }

  /** Raises the limit by 2: the request over the limit was counted as well, so one more passes. */
  async function edit(): Promise<void> {
    limit += 2;
    save();
    for (const pod of pods)
      await eventually("the edit on every pod", async () =>
        expect(await pod.limitOf("shop", { path: "/checkout", user: "probe" })).toBe(limit),
      );
  }

  function save(): void {
    const user = { key: "user", rateLimit: { unit: "year", requestsPerUnit: limit } };
    const rule = { key: "path", value: "/checkout", descriptors: [user] };
    saveManifest(manifests, "shop.yaml", manifestOf("shop", "shop", [rule]));
  }

  function launchControlPlane(version: Version): Promise<Replica> {
    return startReplica({ root: roots[version], ports, certificates, manifests });
  }

  function launchPod(index: number, version: Version): Promise<Pod> {
    const store = { BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "tcp", REDIS_URL: redis!.address };
    return startPod(
      { root: roots[version], ports, certificates },
      {
        ...store,
        KVSTORE_COMMAND_TIMEOUT: "20s", // The machine of a test may be busy.
        CONFIG_GRPC_XDS_NODE_ID: `default/${index}`,
        GRPC_PORT: String(podPorts[index]),
        SHUTDOWN_DRAIN: DRAIN,
      },
    );
  }
});
