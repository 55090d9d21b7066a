// docs/mesh.md as it is, on a real node: the proxies' configurations in pods of Envoy before pods of Weir, and the
// manifests against the definitions of Istio and Envoy Gateway.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAuthority } from "@weir/certificates/authority";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { NodeAccess } from "@weir/harness/node/node-access";
import { exposeHost, FILES_PATH, importEnvoy, startNodePod } from "@weir/harness/node/node-pods";
import {
  envoyFilterCrd,
  gatewayCrd,
  gatewayDeployment,
  gatewayEnvoyConfig,
  gatewayRateLimitConfigs,
  gatewayResources,
  gatewayStatisticsMapping,
  withGatewayFiles,
} from "@weir/harness/pages/gateway-files";
import {
  applyEnvoyFilters,
  applyPatchPolicy,
  findManifest,
  inPod,
  mapTree,
  readMeshPage,
} from "@weir/harness/pages/mesh-page";
import { type GoControlPlane, startGoControlPlane } from "@weir/harness/servers/go-control-plane";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { startUpstream, type Upstream } from "@weir/harness/servers/upstream";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parse, stringify } from "yaml";

/** The node id that Envoy Gateway gives to all rate limit pods, and publishes for. */
const GATEWAY_NODE = "envoy-ratelimit";

/** Namespace of Envoy Gateway. */
const GATEWAY_NAMESPACE = "envoy-gateway-system";

/** Namespace in place of the page's, which another test has. */
const NAMESPACE = "mesh";

/** The port of Envoy's listener in its pod. */
const LISTENER_PORT = 10_000;

/** Requests of a user in turn. */
const REQUESTS = 7;

/** Requests from which the share of each pod is measured. */
const SHARED_REQUESTS = 300;

/** Longest time until pods that are ready have their share, in milliseconds. */
const SHARE_TIMEOUT_MS = 30_000;

/** Answers to those of a user who may send five. */
const FIVE_OF_SEVEN = [200, 200, 200, 200, 200, 429, 429];

const BLOCKS = readMeshPage().map((block) => block.replaceAll("shop", NAMESPACE));

describe("docs/mesh.md", () => {
  const node = new NodeAccess(inject("node"));
  const folder = makeTemporaryFolder();
  let upstream: Upstream | undefined;
  let redis: StoreServer | undefined;
  let gateway: GoControlPlane | undefined;
  let image: string;
  let certificate: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const { host } = node.addresses;
    for (const name of [NAMESPACE, GATEWAY_NAMESPACE, "istio-system", "redis"])
      await node.kubectl(["create", "namespace", name]);
    const spec = { replicas: 1, backend: { type: "memory" } };
    await applyResource("RateLimitService", "limits", spec);
    // A year in place of the page's hour, so that no window ends during a test.
    const { spec: limits } = findManifest(BLOCKS, "RateLimitConfig", "web");
    await applyResource("RateLimitConfig", "web", JSON.parse(JSON.stringify(limits).replace("hour", "year")) as object);
    upstream = await startUpstream(host);
    await exposeHost(node, { namespace: NAMESPACE, name: "web", port: 8080, hostPort: upstream.port });
    redis = await startRedis(folder.path, { host });
    await exposeHost(node, { namespace: "redis", name: "redis", port: 6379, hostPort: redis.port });
    certificate = await makeCertificate();
    const write = (name: string): string => {
      writeFileSync(join(folder.path, name), certificate[name]!);
      return join(folder.path, name);
    };
    const [certPath, keyPath, clientCaPath] = [write("tls.crt"), write("tls.key"), write("ca.crt")];
    gateway = await startGoControlPlane({ host, certPath, keyPath, clientCaPath });
    await exposeHost(node, { ...GATEWAY_SERVICE, hostPort: gateway.port });
    await startGatewayPods();
    image = await importEnvoy(node);
    for (const name of ["rls/limits", "rlc/web"])
      await node.kubectl(["-n", NAMESPACE, "wait", "--for=condition=Ready", name, "--timeout=100s"]);
  });

  afterAll(async () => {
    await gateway?.stop();
    await redis?.stop();
    await upstream?.stop();
    folder.remove();
  });

  it("limits with the configuration for Envoy", async () => {
    const config: unknown = parse(BLOCKS.find((block) => block.startsWith("static_resources:"))!);
    const ask = await startEnvoy("envoy", config);
    expect(await ask("ada")).toEqual(FIVE_OF_SEVEN);
  });

  it("leads an equal share of the calls to each pod, also to those that come, and loses none", async () => {
    const text = BLOCKS.find((block) => block.startsWith("static_resources:"))!;
    // Without a decision the answer is 500.
    const config = mapTree(parse(text.replace("limits-headless", "spread-headless")), (value) =>
      value["rate_limit_service"] === undefined ? value : { ...value, failure_mode_deny: true },
    );
    const redis = { type: "single", single: { address: "redis.redis:6379" }, commandTimeout: "20s" };
    const scaleTo = async (replicas: number): Promise<void> => {
      await applyResource("RateLimitService", "spread", { replicas, resources: {}, backend: { type: "redis", redis } });
      await node.kubectl(["-n", NAMESPACE, "wait", "--for=condition=Ready", "rls/spread", "--timeout=100s"]);
    };
    await scaleTo(3);
    const url = await startEnvoyPod("spread", config);
    const statuses = new Set<number>();
    const expectShares = async (count: number): Promise<void> => {
      const before = await callsByPod("spread");
      expect(before.size).toBe(count);
      for (let sent = 0; sent < SHARED_REQUESTS; sent += 1) statuses.add(await get(url, `user-${sent % 100}`));
      const after = await callsByPod("spread");
      const shares = [...after].map(([pod, calls]) => ((calls - (before.get(pod) ?? 0)) * count) / SHARED_REQUESTS);
      expect(shares.filter((share) => share < 0.8 || share > 1.2)).toEqual([]);
    };
    await eventually("equal shares of three pods", () => expectShares(3), SHARE_TIMEOUT_MS);
    await scaleTo(5);
    await eventually("equal shares of five pods", () => expectShares(5), SHARE_TIMEOUT_MS);
    expect([...statuses].filter((status) => ![200, 429].includes(status))).toEqual([]);
  });

  it("limits with the patches of the EnvoyFilters", async () => {
    const filters = ["weir-filter", "weir-actions"].map((name) => findManifest(BLOCKS, "EnvoyFilter", name));
    const ask = await startEnvoy("istio", applyEnvoyFilters(filters));
    expect(await ask("bob")).toEqual(FIVE_OF_SEVEN);
  });

  it("limits with the patches of the EnvoyPatchPolicy on what Envoy Gateway sends", async () => {
    const resources = gatewayResources("circuit-breaker");
    const patched = applyPatchPolicy(findManifest(BLOCKS, "EnvoyPatchPolicy"), resources);
    const clusters = [...resources.clusters, ...patched.clusters];
    const ask = await startEnvoy("patched", gatewayEnvoyConfig({ ...patched, clusters }));
    expect(await ask("cid")).toEqual(FIVE_OF_SEVEN);
  });

  it("accepts every configuration that Envoy Gateway sends", async () => {
    const configs = gatewayRateLimitConfigs();
    expect(configs.size).toBeGreaterThan(20);
    for (const [file, resources] of configs) await gateway!.deliver(GATEWAY_NODE, `all ${file}`, resources);
  });

  it("enforces a configuration of Envoy Gateway behind the Envoy that it configures, over TLS", async () => {
    const resources = gatewayRateLimitConfigs().get("month-year-rule.yaml")!;
    await gateway!.deliver(GATEWAY_NODE, "enforced", resources);
    const config = JSON.stringify(withGatewayFiles(gatewayEnvoyConfig(gatewayResources("ratelimit")), FILES_PATH))
      // The expected routes have paths without a slash, which no request has.
      .replace('"path":"foo/bar"', '"path":"/foo/bar"');
    const ask = await startEnvoy("gateway", JSON.parse(config));
    expect(await ask("one", "/foo/bar")).toEqual(FIVE_OF_SEVEN);
    expect(await ask("two", "/foo/bar")).toEqual(Array<number>(REQUESTS).fill(200));
  });

  it("shows manifests that the definitions of Istio, Envoy Gateway and Weir accept", async () => {
    const plurals = ["backendtrafficpolicies", "envoypatchpolicies", "envoyproxies"];
    await node.cluster.apply([envoyFilterCrd(), ...plurals.map((plural) => gatewayCrd(plural))].join("\n---\n"));
    // kubectl fails when it meets a definition that has no conditions yet.
    const wait = ["wait", "--for=condition=Established", "--timeout=100s", "crd", "--all"];
    await eventually("the definitions", async () => await node.kubectl(wait));
    const manifests = BLOCKS.filter((block) => /^kind: (?!EnvoyGateway$)/m.test(block));
    expect(manifests).toHaveLength(5);
    for (const manifest of [...manifests, stringify(proxyWithGatewayDeployment())]) {
      expect(await dryRun(manifest)).toMatchObject({ code: 0 });
      const typo = manifest.replace(/^spec:\n/m, "spec:\n  misspelled: true\n");
      expect((await dryRun(typo)).stderr).toContain(".spec.misspelled: field not declared in schema");
    }
  });

  async function applyResource(kind: string, name: string, spec: object): Promise<void> {
    const apiVersion = "ratelimit.weir.dev/v1alpha1";
    await node.apply({ apiVersion, kind, metadata: { name, namespace: NAMESPACE }, spec });
  }

  /** Starts a pod; the result sends seven requests of a user in turn. */
  async function startEnvoy(
    name: string,
    config: unknown,
  ): Promise<(user: string, path?: string) => Promise<readonly number[]>> {
    const url = await startEnvoyPod(name, config);
    return async (user, path = "/") => {
      const statuses: number[] = [];
      for (let sent = 0; sent < REQUESTS; sent += 1) statuses.push(await get(url + path, user));
      return statuses;
    };
  }

  /** Resolves with where the pod listens. */
  async function startEnvoyPod(name: string, config: unknown): Promise<string> {
    const text = stringify(inPod(config, LISTENER_PORT)).replaceAll("shop.svc", `${NAMESPACE}.svc`);
    const files = { "envoy.yaml": text, ...certificate };
    const args = ["--config-path", `${FILES_PATH}/envoy.yaml`, "--concurrency", "1"];
    const { address } = await startNodePod(node, {
      namespace: NAMESPACE,
      name,
      image,
      args,
      files,
      port: LISTENER_PORT,
    });
    return `http://${address}:${LISTENER_PORT}`;
  }

  /** The decisions that each pod of a RateLimitService was asked for, by its name. */
  async function callsByPod(service: string): Promise<ReadonlyMap<string, number>> {
    const pods = await node.podsBy(`app.kubernetes.io/instance=${service}`, NAMESPACE);
    const entries = pods.map(async ({ name, address }) => {
      const response = await fetch(`http://${address}:9090/metrics`);
      const found = /^ratelimit_service_total_requests\{.*"ShouldRateLimit".*\} (\d+)$/m.exec(await response.text());
      return [name, Number(found?.[1] ?? 0)] as const;
    });
    return new Map(await Promise.all(entries));
  }

  /** The pods of Envoy Gateway's own Deployment, with the image that the page names, and what they need. */
  async function startGatewayPods(): Promise<void> {
    const namespace = GATEWAY_NAMESPACE;
    const rendered = readFileSync(gatewayDeployment(), "utf8").replaceAll("periodSeconds: 10", "periodSeconds: 1");
    const { metadata, ...deployment } = parse(rendered) as Deployment;
    const { ownerReferences: _, ...own } = metadata; // Kubernetes deletes what has an unknown owner.
    const [container] = deployment.spec.template.spec.containers;
    container.image = gatewayRateLimitDeployment().container.image;
    container.env.push({ name: "KVSTORE_COMMAND_TIMEOUT", value: "20s" }); // The machine of a test may be busy.
    const objects = [
      { kind: "ServiceAccount", metadata: { name: GATEWAY_NODE, namespace } },
      { kind: "Secret", metadata: { name: "envoy-rate-limit", namespace }, stringData: certificate },
      {
        kind: "ConfigMap",
        metadata: { name: "statsd-exporter-config", namespace },
        data: { "conf.yaml": gatewayStatisticsMapping() },
      },
      {
        kind: "Service",
        metadata: { name: GATEWAY_NODE, namespace },
        spec: { selector: { "app.kubernetes.io/name": GATEWAY_NODE }, ports: [{ port: 8081 }] },
      },
    ];
    for (const object of objects) await node.apply({ apiVersion: "v1", ...object });
    await node.apply({ ...deployment, metadata: own });
  }

  function dryRun(manifest: string): ReturnType<typeof node.cluster.kubectl> {
    const flags = ["--server-side", "--dry-run=server", "--validate=strict"];
    return node.cluster.kubectl(["apply", ...flags, "-f", "-"], manifest);
  }
});

/** The status of the answer to a user. */
async function get(url: string, user: string): Promise<number> {
  const response = await fetch(url, { headers: { "x-user": user, "x-user-id": user } });
  await response.body?.cancel();
  return response.status;
}

/** The Service and the port of Envoy Gateway's discovery server. */
const GATEWAY_SERVICE = { namespace: GATEWAY_NAMESPACE, name: "envoy-gateway", port: 18_001 };

/** The fields of Envoy Gateway's Deployment that the test changes. */
interface Deployment {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly [{ image: string; readonly env: object[] }] };
    };
  };
}

/** One certificate for the discovery server, the pods and the proxies, as in Envoy Gateway's Secrets. */
async function makeCertificate(): Promise<Readonly<Record<string, string>>> {
  const validity = { now: new Date(), validDays: 1 } as const;
  const authority = await createAuthority({ commonName: "tests", ...validity });
  const dnsNames = ["envoy-gateway", GATEWAY_NODE].flatMap((name) => [
    name,
    `${name}.${GATEWAY_NAMESPACE}.svc.cluster.local`,
  ]);
  const { certPem, keyPem } = await authority.issue({ commonName: "gateway", dnsNames, usage: "both", ...validity });
  return { "ca.crt": authority.certPem, "tls.crt": certPem, "tls.key": keyPem };
}

/** `rateLimitDeployment` of the page's EnvoyGateway. */
function gatewayRateLimitDeployment(): { readonly container: { readonly image: string } } {
  const block = BLOCKS.find((text) => text.includes("kind: EnvoyGateway\n"))!;
  const config = parse(block) as {
    provider: { kubernetes: { rateLimitDeployment: ReturnType<typeof gatewayRateLimitDeployment> } };
  };
  return config.provider.kubernetes.rateLimitDeployment;
}

/** EnvoyGateway has no definition; an EnvoyProxy has the same type in another place. */
function proxyWithGatewayDeployment(): unknown {
  return {
    apiVersion: "gateway.envoyproxy.io/v1alpha1",
    kind: "EnvoyProxy",
    metadata: { name: "same-type", namespace: NAMESPACE },
    spec: {
      provider: { type: "Kubernetes", kubernetes: { envoyDeployment: gatewayRateLimitDeployment() } },
    },
  };
}
