// Follows docs/migrating.md on a real node: a Deployment of envoyproxy/ratelimit behind Envoy is taken over and given
// back under load, then its rule files become resources. Counters are kept all the time.
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { parse } from "yaml";

import { loadAuthority } from "@weir/certificates/authority";
import { fieldsOf } from "@weir/kubernetes/mapping";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

import { type Envoy, startEnvoy } from "@weir/harness/envoy/envoy";
import { type Fields, rateLimitService } from "@weir/harness/envoy/envoy-config";
import { programImage } from "@weir/harness/node/image-archives";
import { NodeAccess, SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { podsCluster } from "@weir/harness/node/product";
import { Guide } from "@weir/harness/pages/guide";
import { eventually } from "@weir/harness/processes/eventually";
import { launcher, runCommand } from "@weir/harness/processes/programs";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { findEnvoyRatelimit } from "@weir/harness/servers/envoy-ratelimit";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { startUpstream, type Upstream } from "@weir/harness/servers/upstream";
import { spend, startLoad } from "@weir/harness/weir/traffic";

const GUIDE = new Guide("migrating.md");

/** Namespace of the page, and domain of its rules here: other tests on the node have the domain of the page. */
const GATEWAY = "gateway";

const ENVOY_RATELIMIT = "localhost/envoyproxy-ratelimit:1";
const WEIR = "ghcr.io/weir-dev/weir-ratelimit:0.1.0";

const POD_COUNT = 2;

/** Time limit of a test that rolls all pods, in milliseconds. */
const ROLL_TIMEOUT_MS = 240_000;

/** Answers before a step counts as taken under load. */
const LOAD_ANSWERS = 50;

/** The last four of ten requests of a user, and one more. */
const FOUR_LEFT = [200, 200, 200, 200, 429];

describe("docs/migrating.md", () => {
  const folder = makeTemporaryFolder();
  const node = new NodeAccess(inject("node"));
  let redis: StoreServer | undefined;
  let upstream: Upstream | undefined;
  let envoy: Envoy | undefined;
  let before: Awaited<ReturnType<typeof seen>>;

  beforeAll(async () => {
    await node.importImages(
      await programImage({ name: ENVOY_RATELIMIT, files: { "/bin/ratelimit": findEnvoyRatelimit() } }, folder.path),
    );
    [redis, upstream] = [await startRedis(folder.path, { host: node.addresses.host }), await startUpstream()];
    const rules = GUIDE.block("yaml", "domain: shop").replace("shop", GATEWAY);
    const local = join(folder.path, "ratelimit", "config");
    mkdirSync(local, { recursive: true });
    writeFileSync(join(local, "shop.yaml"), rules);
    await node.kubectl(["create", "namespace", GATEWAY]);
    await node.kubectl(["-n", GATEWAY, "create", "configmap", "rules", `--from-literal=shop.yaml=${rules}`]);
    await node.apply(deployment({ ...GUIDE.env("BACKEND_TYPE"), REDIS_URL: redis.address }));
    await node.apply(podsService());
    await node.kubectl(["-n", GATEWAY, "rollout", "status", "deployment/ratelimit", "--timeout=120s"]);
    envoy = await startEnvoy({
      folder: folder.path,
      domain: GATEWAY,
      upstreamPort: upstream.port,
      rateLimitCluster: podsCluster(
        node.addresses.dns,
        `pods.${GATEWAY}`,
        parse(GUIDE.block("yaml", "health_checks")) as Fields,
      ),
      filter: {
        rate_limit_service: rateLimitService("ratelimit", parse(GUIDE.block("yaml", "retry_policy")) as Fields),
      },
    });
    await untilHealthy();
  });

  afterAll(async () => {
    await envoy?.stop();
    await node.kubectl(["delete", "namespace", GATEWAY, "--wait=false"]);
    await upstream?.stop();
    await redis?.stop();
    folder.remove();
  });

  it("finds nothing wrong with the rule files beforehand", async () => {
    expect(await run(GUIDE.block("sh", 'weir check "'))).toMatchObject({ code: 0 });
  });

  it(
    "replaces envoyproxy/ratelimit by Weir under load: no failed request, 4 of 10 left",
    async () => {
      expect(await spend(as("ada"), 6)).toEqual(Array<number>(6).fill(200));
      before = await seen();
      await roll(WEIR, "to-weir", "bob");
      expect(await spend(as("ada"), 5)).toEqual(FOUR_LEFT);
    },
    ROLL_TIMEOUT_MS,
  );

  it("has rules, health, /json and metrics where they were", async () => {
    const after = await seen();
    expect(before.metrics).not.toEqual([]);
    expect(after).toEqual({ ...before, metrics: expect.arrayContaining([...before.metrics]) as unknown });
  });

  it(
    "replaces Weir by envoyproxy/ratelimit under load: no failed request, 4 of 10 left",
    async () => {
      expect(await spend(as("grace"), 6)).toEqual(Array<number>(6).fill(200));
      await roll(ENVOY_RATELIMIT, "back", "carol");
      expect(await spend(as("grace"), 5)).toEqual(FOUR_LEFT);
    },
    ROLL_TIMEOUT_MS,
  );

  it(
    "moves the rules to resources: same decisions, and the same keys in Redis",
    async () => {
      expect(await spend(as("edsger"), 6)).toEqual(Array<number>(6).fill(200));
      const keys = await redisKeys();
      const commands = [GUIDE.block("sh", "weir convert"), GUIDE.block("sh", "kubectl apply")].join("\n");
      const { code, stdout, stderr } = await run(commands);
      expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/ condition met\n$/) as string, ""]);
      await connectPods();
      expect(await spend(as("edsger"), 5)).toEqual(FOUR_LEFT);
      expect(await redisKeys()).toEqual(keys);
    },
    ROLL_TIMEOUT_MS,
  );

  function as(user: string): { readonly url: string; readonly user: string } {
    return { url: `${envoy!.url}/checkout`, user };
  }

  /** Runs commands of the page. */
  function run(commands: string): ReturnType<typeof runCommand> {
    const { kubectlPath, kubeconfigPath } = node.cluster;
    const PATH = [dirname(launcher("weir")), dirname(kubectlPath), "/usr/bin", "/bin"].join(delimiter);
    const env = { PATH, KUBECONFIG: kubeconfigPath, RUNTIME_ROOT: folder.path, RUNTIME_SUBDIRECTORY: "ratelimit" };
    return runCommand(`set -e\n${commands}`, { cwd: folder.path, env });
  }

  /** Changes the image of all pods; `user` has ten requests while both programs run. */
  async function roll(image: string, load: string, user: string): Promise<void> {
    const traffic = startLoad(as(load));
    try {
      await traffic.answers(LOAD_ANSWERS);
      const old = await pods();
      await node.kubectl(["-n", GATEWAY, "set", "image", "deployment/ratelimit", `ratelimit=${image}`]);
      await eventually("a pod of each program to be ready", async () => {
        const ready = (await pods()).filter(({ isReady }) => isReady);
        const isOld = ({ uid }: { readonly uid: string }): boolean => old.some((pod) => pod.uid === uid);
        expect([ready.some(isOld), ready.every(isOld)]).toEqual([true, false]);
      });
      expect(await spend(as(user), 11)).toEqual([...Array<number>(10).fill(200), 429]);
      await node.kubectl(["-n", GATEWAY, "rollout", "status", "deployment/ratelimit", "--timeout=120s"]);
      await untilHealthy();
      await traffic.answers(LOAD_ANSWERS);
    } finally {
      expect(await traffic.stop()).toEqual({});
    }
  }

  /** Gives the pods what the page adds to their environment, and a certificate of the authority of the installed Weir. */
  async function connectPods(): Promise<void> {
    const secret = await node.kubectl(["-n", SYSTEM_NAMESPACE, "get", "secret", "weir-ca", "-o", "json"]);
    const data = fieldsOf(fieldsOf(JSON.parse(secret))["data"]);
    const file = (name: string): string => Buffer.from(String(data[name]), "base64").toString();
    const authority = await loadAuthority(file("tls.crt"), file("tls.key"));
    const { certPem, keyPem } = await authority.issue({
      commonName: GATEWAY,
      uris: [`spiffe://cluster.local/ns/${GATEWAY}/fleet/${GATEWAY}`],
      usage: "client",
      now: new Date(),
      validDays: 1,
    });
    const tls = { "ca.crt": file("tls.crt"), "tls.crt": certPem, "tls.key": keyPem };
    await node.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "tls", namespace: GATEWAY },
      stringData: tls,
    });
    const page = { ...GUIDE.env("BACKEND_TYPE"), REDIS_URL: redis!.address, ...GUIDE.env("CONFIG_TYPE") };
    await node.apply(deployment(page, WEIR, { name: "tls", secret: { secretName: "tls" } }));
    await node.kubectl(["-n", GATEWAY, "rollout", "status", "deployment/ratelimit", "--timeout=120s"]);
    await untilHealthy();
  }

  async function pods(): ReturnType<NodeAccess["podsBy"]> {
    return await node.podsBy("app=ratelimit", GATEWAY);
  }

  async function untilHealthy(): Promise<void> {
    await eventually("all pods to be healthy for Envoy", async () =>
      expect(await envoy!.statistic("cluster.ratelimit.membership_healthy")).toBe(POD_COUNT),
    );
  }

  async function redisKeys(): Promise<readonly string[]> {
    const reply = await sendCommand(redis!, "KEYS", "*");
    return reply
      .split("\r\n")
      .filter((line) => !/^[*$]/.test(line))
      .toSorted();
  }

  /** Returns what dashboards and probes read: the series of rules without values, and the texts of the others. */
  async function seen(): Promise<{
    readonly health: string;
    readonly rules: string;
    readonly json: unknown;
    readonly metrics: readonly string[];
  }> {
    const [pod] = await pods();
    const at = (port: number, path: string): string => `http://${pod!.address}:${port}${path}`;
    const entries = [
      { key: "path", value: "/checkout" },
      { key: "user", value: "dashboard" },
    ];
    const body = JSON.stringify({ domain: GATEWAY, descriptors: [{ entries }], hitsAddend: 11 });
    const answer = await fetch(at(8080, "/json"), { method: "POST", body });
    const { overallCode } = (await answer.json()) as { readonly overallCode: string };
    const metrics = await eventually("the metrics of the rule", async () => {
      const page = await (await fetch(at(9090, "/metrics"))).text();
      const series = [...page.matchAll(/^(ratelimit_service_rate_limit_\w+\{[^}]*\}) /gm)].map(([, name = ""]) => name);
      expect(series.join("\n")).toContain("over_limit");
      return series.toSorted();
    });
    return {
      health: await (await fetch(at(8080, "/healthcheck"))).text(),
      rules: await (await fetch(at(6070, "/rlconfig"))).text(),
      json: { status: answer.status, overallCode },
      metrics,
    };
  }
});

/** The Deployment of a team, with the environment of the page; `volume` is mounted where the page has certificates. */
function deployment(env: Readonly<Record<string, string>>, image = ENVOY_RATELIMIT, volume?: object): object {
  const labels = { app: "ratelimit" };
  // Patience for a busy machine, which only Weir reads; the first variable is that of the page's node id.
  const podName = { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } };
  const variables = Object.entries({ ...env, KVSTORE_COMMAND_TIMEOUT: "20s" }).map(([name, value]) => ({
    name,
    value,
  }));
  const container = {
    name: "ratelimit",
    image,
    command: ["/bin/ratelimit"],
    env: [podName, ...variables],
    readinessProbe: { httpGet: { path: "/healthcheck", port: 8080 }, periodSeconds: 1 },
    volumeMounts: [
      { name: "rules", mountPath: "/data/ratelimit/config" },
      ...(volume === undefined ? [] : [{ name: "tls", mountPath: "/etc/weir/tls" }]),
    ],
  };
  const spec = {
    containers: [container],
    volumes: [{ name: "rules", configMap: { name: "rules" } }, ...(volume === undefined ? [] : [volume])],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "ratelimit", namespace: GATEWAY },
    spec: {
      replicas: POD_COUNT,
      minReadySeconds: 5, // Longer than Envoy's health checks need.
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  };
}

function podsService(): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "pods", namespace: GATEWAY },
    spec: { clusterIP: "None", selector: { app: "ratelimit" }, ports: [{ name: "grpc", port: 8081 }] },
  };
}
