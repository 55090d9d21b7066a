// docs/mesh.md as it is: the proxies' configurations in a real Envoy before a real pod, and the manifests against the
// definitions of Istio and Envoy Gateway in a real API server.
import { once } from "node:events";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { writeCertificates, type CertificateFiles } from "@weir/harness/servers/certificate-files";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { startEnvoyWith } from "@weir/harness/envoy/envoy";
import { type Weir, startWeir } from "@weir/harness/weir/weir";
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
import { type GoControlPlane, startGoControlPlane } from "@weir/harness/servers/go-control-plane";
import { startListening } from "@weir/harness/servers/listening-service";
import {
  applyEnvoyFilters,
  applyPatchPolicy,
  findManifest,
  type MeshPorts,
  onThisMachine,
  readMeshPage,
} from "@weir/harness/pages/mesh-page";
import type { Pod } from "@weir/harness/weir/pod";
import { launcher, ROOT } from "@weir/harness/processes/programs";
import { startUpstream, type Upstream } from "@weir/harness/servers/upstream";

/** The node id that Envoy Gateway gives to all rate limit pods, and publishes for. */
const GATEWAY_NODE = "envoy-ratelimit";

const BLOCKS = readMeshPage();
const agent = new Agent({ keepAlive: true });

/** Sends requests of one user in turn through an Envoy with `config`, and stops it. */
async function statusesWith(config: unknown, user: string, count: number, path = "/"): Promise<readonly number[]> {
  const folder = makeTemporaryFolder();
  const envoy = await startEnvoyWith(folder.path, stringify(config));
  try {
    const statuses: number[] = [];
    for (let index = 0; index < count; index++) {
      const call = httpRequest(envoy.url + path, { headers: { "x-user": user, "x-user-id": user }, agent }).end();
      const [response] = (await once(call, "response")) as [IncomingMessage];
      await once(response.resume(), "end");
      statuses.push(response.statusCode ?? 0);
    }
    return statuses;
  } finally {
    await envoy.stop();
    folder.remove();
  }
}

describe("docs/mesh.md with the limits of a control plane", () => {
  const folder = makeTemporaryFolder();
  let upstream: Upstream | undefined;
  let flow: Weir | undefined;
  let pod: Pod;
  let ports: MeshPorts;

  beforeAll(async () => {
    upstream = await startUpstream();
    // A year in place of the page's hour, so that no window ends during a test.
    const manifest = stringify(findManifest(BLOCKS, "RateLimitConfig", "web")).replace("unit: hour", "unit: year");
    flow = await startWeir(folder.path, { manifests: { "web.yaml": manifest } });
    pod = await flow.startPod();
    ports = { rateLimit: pod.grpcPort, upstream: upstream.port };
  });

  afterAll(async () => {
    await flow?.stop();
    await upstream?.stop();
    folder.remove();
  });

  it("limits with the configuration for Envoy", async () => {
    const config: unknown = parse(BLOCKS.find((block) => block.startsWith("static_resources:"))!);
    expect(await statusesWith(onThisMachine(config, ports), "envoy", 7)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  it("limits with the patches of the EnvoyFilters", async () => {
    const filters = ["weir-filter", "weir-actions"].map((name) => findManifest(BLOCKS, "EnvoyFilter", name));
    const config = onThisMachine(applyEnvoyFilters(filters), ports);
    expect(await statusesWith(config, "istio", 7)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  it("limits with the patches of the EnvoyPatchPolicy on what Envoy Gateway sends", async () => {
    const resources = gatewayResources("circuit-breaker");
    const patched = applyPatchPolicy(findManifest(BLOCKS, "EnvoyPatchPolicy"), resources);
    const clusters = [...resources.clusters, ...patched.clusters];
    const config = onThisMachine(gatewayEnvoyConfig({ ...patched, clusters }), ports);
    expect(await statusesWith(config, "gateway", 7)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });
});

describe("docs/mesh.md with Envoy Gateway's discovery server", () => {
  const folder = makeTemporaryFolder();
  let cluster: KubernetesCluster;
  let redis: StoreServer | undefined;
  let upstream: Upstream | undefined;
  let gateway: GoControlPlane | undefined;
  let pod: ProcessGroup | undefined;
  let files: CertificateFiles;
  let grpcPort: number;
  let command: readonly string[];

  beforeAll(async () => {
    cluster = await startKubernetesCluster();
    redis = await startRedis(folder.path);
    upstream = await startUpstream();
    files = await writeCertificates(folder.path);
    gateway = await startGoControlPlane({
      certPath: files.serverCert,
      keyPath: files.serverKey,
      clientCaPath: files.ca,
    });
    const container = gatewayContainer();
    command = container.command;
    const mapping = join(folder.path, "conf.yaml");
    writeFileSync(mapping, gatewayStatisticsMapping());
    const given = Object.fromEntries(container.env.map(({ name, value }) => [name, value]));
    const service = await startListening({
      name: "envoy-ratelimit",
      command: launcher("weir-ratelimit"),
      cwd: ROOT,
      env: {
        PATH: process.env["PATH"] ?? "", // The launcher finds Node.js on it.
        ...given,
        // Its Secret has one certificate for both; the paths and addresses are those of this machine.
        GRPC_SERVER_TLS_CERT: files.serverCert,
        GRPC_SERVER_TLS_KEY: files.serverKey,
        GRPC_SERVER_TLS_CA_CERT: files.ca,
        CONFIG_GRPC_XDS_CLIENT_TLS_CERT: files.clientCert,
        CONFIG_GRPC_XDS_CLIENT_TLS_KEY: files.clientKey,
        CONFIG_GRPC_XDS_SERVER_TLS_CACERT: files.ca,
        CONFIG_GRPC_XDS_SERVER_URL: `localhost:${gateway.port}`,
        REDIS_URL: redis.address,
        PROMETHEUS_MAPPER_YAML: mapping,
        KVSTORE_COMMAND_TIMEOUT: "20s", // The machine of a test may be busy.
      },
    });
    [pod, grpcPort] = [service.process, service.grpcPort];
  });

  afterAll(async () => {
    agent.destroy();
    await pod?.stop("SIGTERM", 30_000);
    await gateway?.stop();
    await upstream?.stop();
    await redis?.stop();
    await (cluster as KubernetesCluster | undefined)?.stop(); // Not there when it did not start.
    folder.remove();
  });

  it("starts what Weir's image has at the path in Envoy Gateway's own Deployment", () => {
    expect(command).toEqual(["/bin/ratelimit"]);
  });

  it("accepts every configuration that Envoy Gateway sends", async () => {
    const configs = gatewayRateLimitConfigs();
    expect(configs.size).toBeGreaterThan(20);
    for (const [file, resources] of configs) await gateway!.deliver(GATEWAY_NODE, `all ${file}`, resources);
  });

  it("enforces a configuration of Envoy Gateway behind the Envoy that it configures, over TLS", async () => {
    const resources = gatewayRateLimitConfigs().get("month-year-rule.yaml")!;
    await gateway!.deliver(GATEWAY_NODE, "enforced", resources);
    const config = JSON.stringify(withGatewayFiles(gatewayEnvoyConfig(gatewayResources("ratelimit")), files))
      // The expected routes have paths without a slash, which no request has.
      .replace('"path":"foo/bar"', '"path":"/foo/bar"');
    const here = onThisMachine(JSON.parse(config) as unknown, { rateLimit: grpcPort, upstream: upstream!.port });
    expect(await statusesWith(here, "one", 7, "/foo/bar")).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(await statusesWith(here, "two", 7, "/foo/bar")).toEqual([200, 200, 200, 200, 200, 200, 200]);
  });

  it("shows manifests that the definitions of Istio, Envoy Gateway and Weir accept", async () => {
    const plurals = ["backendtrafficpolicies", "envoypatchpolicies", "envoyproxies"];
    const weir = readFileSync(join(ROOT, "crds/crds/ratelimitconfigs.yaml"), "utf8");
    await cluster.apply([envoyFilterCrd(), ...plurals.map((plural) => gatewayCrd(plural)), weir].join("\n---\n"));
    const namespaces = ["shop", "istio-system"].map((name) => ({
      ...{ apiVersion: "v1", kind: "Namespace" },
      metadata: { name },
    }));
    await cluster.apply(namespaces.map((namespace) => stringify(namespace)).join("---\n"));
    const wait = ["wait", "--for=condition=Established", "--timeout=120s", "crd", "--all"];
    expect((await cluster.kubectl(wait)).code).toBe(0);
    const manifests = BLOCKS.filter((block) => /^kind: (?!EnvoyGateway$)/m.test(block));
    expect(manifests).toHaveLength(5);
    for (const manifest of [...manifests, stringify(proxyWithGatewayDeployment())]) {
      expect(await dryRun(manifest)).toMatchObject({ code: 0 });
      const typo = manifest.replace(/^spec:\n/m, "spec:\n  misspelled: true\n");
      expect((await dryRun(typo)).stderr).toContain(".spec.misspelled: field not declared in schema");
    }
  });

  function dryRun(manifest: string): ReturnType<KubernetesCluster["kubectl"]> {
    const flags = ["--server-side", "--dry-run=server", "--validate=strict"];
    return cluster.kubectl(["apply", ...flags, "-f", "-"], manifest);
  }
});

interface Container {
  readonly command: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

/** The container of Envoy Gateway's own Deployment of the rate limit service. */
function gatewayContainer(): Container {
  const deployment = parse(readFileSync(gatewayDeployment(), "utf8")) as {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly [Container] } } };
  };
  return deployment.spec.template.spec.containers[0];
}

/** `rateLimitDeployment` of the page's EnvoyGateway. */
function gatewayRateLimitDeployment(): unknown {
  const block = BLOCKS.find((text) => text.includes("kind: EnvoyGateway\n"))!;
  const config = parse(block) as { provider: { kubernetes: { rateLimitDeployment: unknown } } };
  return config.provider.kubernetes.rateLimitDeployment;
}

/** EnvoyGateway has no definition; an EnvoyProxy has the same type in another place. */
function proxyWithGatewayDeployment(): unknown {
  return {
    apiVersion: "gateway.envoyproxy.io/v1alpha1",
    kind: "EnvoyProxy",
    metadata: { name: "same-type", namespace: "shop" },
    spec: {
      provider: { type: "Kubernetes", kubernetes: { envoyDeployment: gatewayRateLimitDeployment() } },
    },
  };
}
