// Limits that envoyproxy/ratelimit and the previous version do not know, in a fleet with their pods: these keep the
// earlier revision, take every other edit, and reports say which pods need a newer image.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startEnvoyRatelimit } from "@weir/harness/servers/envoy-ratelimit";
import type { ListeningService } from "@weir/harness/servers/listening-service";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { BUILD_TIMEOUT_MS, buildPrevious } from "@weir/harness/weir/earlier-build";
import { PodClient, startPod, type Pod } from "@weir/harness/weir/pod";
import { makeCertificates, type Replica, type ReplicaCertificates, startReplica } from "@weir/harness/weir/replica";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Limits that older pods would enforce otherwise, each as a rule has it. */
const BUCKET = { rateLimit: { unit: "day", requestsPerUnit: 3, algorithm: "token_bucket", burst: 2 } };
const MULTIPLE = { rateLimit: { unit: "day", requestsPerUnit: 4, unitMultiplier: 2 } };
const LIST = {
  rateLimits: [
    { name: "long", unit: "day", requestsPerUnit: 5 },
    { name: "short", unit: "hour", requestsPerUnit: 5 },
  ],
};

describe("limits that older pods do not know", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const started: ListeningService[] = [];
  let certificates: ReplicaCertificates;
  let redis: StoreServer | undefined;
  let replica: Replica;
  const pods: Pod[] = [];
  let previousRoot: string;
  let published: PodClient;
  let previous: PodClient;
  let current: PodClient;

  beforeAll(async () => {
    previousRoot = await buildPrevious(process.env, "ratelimit");
    mkdirSync(manifests);
    certificates = await makeCertificates(folder.path);
    save("mail", plain(2));
    save("search", plain(1));
    replica = await startReplica({ certificates, manifests });
    redis = await startRedis(folder.path);
    published = await startPublished("edge/published");
    previous = await startWeir("edge/previous", previousRoot);
    current = await startWeir("edge/current");
    for (const pod of [published, previous, current]) await expectLimits(pod, { mail: 2, search: 1 });
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    for (const { process } of [...pods, ...started, replica]) await process.stop("SIGTERM", 5000);
    await redis?.stop();
    folder.remove();
  });

  it.each([
    { what: "a token bucket", limits: BUCKET, mail: 3, next: 11 },
    { what: "a multiple of a unit", limits: MULTIPLE, mail: 4, next: 12 },
    { what: "a list of limits", limits: LIST, mail: 5, next: 13 },
  ])("keep the earlier revision there when a rule gets $what, and others arrive", async ({ limits, mail, next }) => {
    const questions = [published, previous].map((pod) => pod.keepAsking("mail"));
    save("mail", limits);
    await eventually("the report", async () => {
      expect((await reportsOf("mail"))[0]).toMatchObject({
        reason: "RejectedByDataPlane",
        servesLastGood: true,
        pods: { total: 3, accepted: 1, rejected: 2 },
      });
    });
    save("search", plain(next));
    for (const pod of [published, previous]) await expectLimits(pod, { mail: 2, search: next });
    await expectLimits(current, { mail, search: next });
    for (const question of questions) expect(await question.end()).toBe("2");
  });

  it("are reported with the pods that need a newer image", async () => {
    const { pods: reported = [] } = await replica.rollout();
    const words =
      "default/mail: invalid rate limit unit '100' (the pod needs a newer image: its own knows no multiples of units, algorithms, time zones and lists of limits)";
    expect(reported.map(({ nodeId, rejection }) => ({ nodeId, rejection }))).toEqual([
      { nodeId: "edge/current", rejection: undefined },
      { nodeId: "edge/previous", rejection: words },
      { nodeId: "edge/published", rejection: words },
    ]);
    const [mail] = await reportsOf("mail");
    expect(mail?.problems?.map(({ message }) => message)).toEqual([expect.stringContaining(words)]);
  });

  it("are not needed for the values that a rule shows: older pods take it, and show hashes", async () => {
    save("search", { ...plain(14), showValues: true });
    for (const pod of [published, previous, current]) await expectLimits(pod, { search: 14 });
    expect((await reportsOf("search"))[0]).toMatchObject({ state: "RESOURCE_STATE_SERVED" });
    save("search", plain(13));
    for (const pod of [published, previous, current]) await expectLimits(pod, { search: 13 });
  });

  it("keep the earlier revision on a pod that is rolled back to an older image", async () => {
    await expectLimits(await startPublished("edge/rolled-back"), { mail: 2, search: 13 });
    await expectLimits(await startWeir("edge/rolled-back-to-previous", previousRoot), { mail: 2, search: 13 });
  });

  it("are enforced by a pod whose image is renewed", async () => {
    await expectLimits(await startWeir("edge/renewed"), { mail: 5, search: 13 });
  });

  it("are gone from the report when the rule is rolled back", async () => {
    save("mail", plain(6));
    for (const pod of [published, previous, current]) await expectLimits(pod, { mail: 6, search: 13 });
    await eventually("the report", async () => {
      expect((await reportsOf("mail")).map(({ state }) => state)).toEqual(["RESOURCE_STATE_SERVED"]);
    });
  });

  function plain(requestsPerUnit: number): object {
    return { rateLimit: { unit: "day", requestsPerUnit } };
  }

  function save(name: string, limits: object): void {
    saveManifest(manifests, `${name}.yaml`, manifestOf(name, name, [{ key: "user", ...limits }]));
  }

  /** Starts a pod of this checkout, or of that at `root`. */
  async function startWeir(nodeId: string, root?: string): Promise<PodClient> {
    const place = { ports: replica.ports, certificates, ...(root !== undefined && { root }) };
    const pod = await startPod(place, { CONFIG_GRPC_XDS_NODE_ID: nodeId });
    pods.push(pod);
    return pod;
  }

  async function startPublished(nodeId: string): Promise<PodClient> {
    const env = {
      REDIS_SOCKET_TYPE: "tcp",
      REDIS_URL: redis!.address,
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_NODE_ID: nodeId,
      CONFIG_GRPC_XDS_SERVER_URL: `localhost:${replica.adsPort}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: certificates.ca.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: certificates.rateLimit.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: certificates.rateLimit.key,
    };
    const service = await startEnvoyRatelimit({ folder: folder.path, env });
    started.push(service);
    return new PodClient(`http://${STACK_HOST}:${service.env["PORT"]}`);
  }

  async function expectLimits(pod: PodClient, limits: Readonly<Record<string, number>>): Promise<void> {
    const ask = async (domain: string) => [domain, await pod.limitOf(domain, { user: "probe" })] as const;
    await eventually("the limits of a pod", async () =>
      expect(Object.fromEntries(await Promise.all(Object.keys(limits).map(ask)))).toEqual(limits),
    );
  }

  async function reportsOf(name: string) {
    const { resources } = await replica.rollout();
    return resources.filter((resource) => resource.name === name);
  }
});
