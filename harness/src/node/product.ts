// The product as a platform team has it: Weir installed in a cluster, one data plane of three pods on a Redis, and
// an Envoy in front of a service that finds these pods by their DNS name.
import { CHARTS } from "../helm/helm.ts";
import { eventually } from "../processes/eventually.ts";
import { startRedis } from "../servers/redis.ts";

import { type Envoy, startEnvoy } from "../envoy/envoy.ts";
import { endpoints, type Fields, socketAddress } from "../envoy/envoy-config.ts";
import { pageEnvoy } from "../pages/mesh-page.ts";
import { manifestOf, type Rule } from "../weir/weir.ts";
import { startUpstream, type Upstream } from "../servers/upstream.ts";
import { weirImages } from "./image-archives.ts";
import { type NodeAccess, type NodePod, SYSTEM_NAMESPACE } from "./node-access.ts";
import type { NodeFamilies } from "./node-addresses.ts";
import { type RealNode, startRealNode } from "./real-node.ts";

/** Namespace of the team whose limits are applied. */
export const SHOP = "shop";

/** Domain that Envoy asks about. */
export const DOMAIN = "shop";

/** Pods of the data plane. */
export const POD_COUNT = 3;

/** Of the test, because an earlier operator makes no headless Service. */
const PODS_SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "core-pods", namespace: SHOP },
  spec: {
    clusterIP: "None",
    selector: { "app.kubernetes.io/name": "weir-ratelimit", "app.kubernetes.io/instance": "core" },
    ports: [{ name: "grpc", port: 8081, targetPort: "grpc" }],
  },
};

/** How docs/mesh.md leads Envoy to the pods. */
const PAGE_ENVOY = pageEnvoy();

/** Longest wait of one kubectl command. */
const WAIT_TIMEOUT = "--timeout=100s";

/** Fields of the backend of the RateLimitService, for a Redis that is not a single one. */
export type RedisBackend = Readonly<Record<string, unknown>>;

/** Options of {@link startProduct}. */
export interface ProductOptions {
  /** By default a Redis of this fixture. */
  readonly redis?: RedisBackend;
  /** How long Redis may take for a command; by default longer than a busy machine stands still. */
  readonly commandTimeout?: string;
  /** Fields of Envoy's rate limit filter. */
  readonly filter?: Readonly<Record<string, unknown>>;
}

/**
 * Starts a node of its own and installs Weir with the images of this checkout and these flags of helm; nothing is awaited
 * after that. `installedMs` is when that began.
 */
export async function startInstalledNode(
  ...flags: readonly string[]
): Promise<RealNode & { readonly installedMs: number }> {
  return await installOn("IPv4", ...flags);
}

/** The same on a node with addresses of these families. */
export async function installOn(
  families: NodeFamilies,
  ...flags: readonly string[]
): Promise<RealNode & { readonly installedMs: number }> {
  const images = await weirImages();
  const node = await startRealNode(families);
  try {
    const tookMs = await node.importImages(images);
    process.stdout.write(`Imported the images in ${tookMs} ms\n`);
    const installedMs = performance.now();
    await node.install(CHARTS, ...flags);
    return Object.assign(node, { installedMs });
  } catch (error) {
    await node.stop();
    throw error;
  }
}

/** Starts a data plane on a node on which Weir is installed; resolves when the first request was limited. */
export async function startProduct(node: NodeAccess, options: ProductOptions = {}): Promise<Product> {
  const redis = await startRedis(node.folder, { host: node.addresses.host });
  const upstream = await startUpstream();
  const product = new Product(node, redis, upstream);
  try {
    await product.begin(options);
    return product;
  } catch (error) {
    await product.stop();
    throw error;
  }
}

/** The running product. */
export class Product {
  readonly node: NodeAccess;
  readonly redis: Awaited<ReturnType<typeof startRedis>>;
  readonly upstream: Upstream;
  #envoy: Envoy | undefined;

  constructor(node: NodeAccess, redis: Product["redis"], upstream: Upstream) {
    this.node = node;
    this.redis = redis;
    this.upstream = upstream;
  }

  get envoy(): Envoy {
    if (this.#envoy === undefined) throw new Error("Envoy does not run yet");
    return this.#envoy;
  }

  /** Makes the data plane and its first limit, and sends requests until one is limited. */
  async begin({ redis, commandTimeout = "20s", filter }: ProductOptions): Promise<void> {
    await this.node.kubectl(["create", "namespace", SHOP]);
    await this.apply("first", "first", [perPath("/first", 1)]);
    const server = redis ?? { type: "single", single: { address: this.redis.address } };
    await this.node.apply({
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitService",
      metadata: { name: "core", namespace: SHOP },
      spec: {
        replicas: POD_COUNT,
        resources: { limits: { memory: "384Mi" } },
        backend: { type: "redis", redis: { ...server, commandTimeout } },
        responseHeaders: { enabled: true },
      },
    });
    await this.node.apply(PODS_SERVICE);
    await this.kubectl("wait", "--for=condition=Ready", "rls/core", WAIT_TIMEOUT);
    await this.apply("limits", DOMAIN, [perPath("/first", 1)]);
    await this.kubectl("wait", "--for=condition=Ready", "rlc/limits", WAIT_TIMEOUT);
    this.#envoy = await startEnvoy({
      folder: this.node.folder,
      domain: DOMAIN,
      upstreamPort: this.upstream.port,
      rateLimitCluster: podsCluster(this.node.addresses.dns, `core-pods.${SHOP}`, PAGE_ENVOY.cluster),
      filter: { rate_limit_service: PAGE_ENVOY.service, ...filter },
    });
    await eventually("a limited request", async () => {
      const { status } = await this.get("/first", "first");
      if (status !== 429) throw new Error(`the answer is ${status}`);
    });
  }

  /** Applies a RateLimitConfig to the namespace. */
  async apply(name: string, domain: string, descriptors: readonly Rule[]): Promise<void> {
    await this.node.kubectl(["apply", "-n", SHOP, "-f", "-"], manifestOf(name, domain, descriptors));
  }

  /** Applies the limits of the domain that Envoy asks about, and waits as `kubectl wait` does. */
  async applyLimits(descriptors: readonly Rule[]): Promise<void> {
    await this.apply("limits", DOMAIN, descriptors);
    await this.kubectl("wait", "--for=condition=Ready", "rlc/limits", WAIT_TIMEOUT);
  }

  /** Runs kubectl in the namespace. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await this.node.kubectl(["-n", SHOP, ...args]);
  }

  async rateLimitPods(): Promise<readonly NodePod[]> {
    return await this.node.pods("weir-ratelimit", SHOP);
  }

  /** Every pod of Weir. */
  async allPods(): Promise<readonly NodePod[]> {
    const programs = ["weir-operator", "weir-control-plane", "weir-ratelimit"];
    return (await Promise.all(programs.map((name) => this.node.pods(name)))).flat();
  }

  /** The operator that is the leader, by its Lease. */
  async leader(): Promise<NodePod> {
    const path = "jsonpath={.spec.holderIdentity}";
    const holder = await this.node.kubectl(["get", "lease", "weir-operator", "-n", SYSTEM_NAMESPACE, "-o", path]);
    const leader = (await this.node.pods("weir-operator")).find(({ name }) => holder.startsWith(name));
    if (leader === undefined) throw new Error(`No pod is the leader ${holder}`);
    return leader;
  }

  /** Sends one request through Envoy. */
  async get(path: string, user: string): Promise<Response> {
    const response = await fetch(this.envoy.url + path, { headers: { "x-user": user } });
    await response.body?.cancel();
    return response;
  }

  /** Sends requests at once; resolves with how many had each status. */
  async getMany(path: string, user: string, count: number): Promise<Readonly<Record<string, number>>> {
    const all = await Promise.all(Array.from({ length: count }, () => this.get(path, user)));
    const counts: Record<string, number> = {};
    for (const { status } of all) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  /** Ends what it started outside of the node. */
  async stop(): Promise<void> {
    await this.#envoy?.stop();
    await this.upstream.stop();
    await this.redis.stop();
  }
}

/** A limit per user and year on one path. */
export function perPath(path: string, requestsPerUnit: number): Rule {
  // No window ends while a test runs.
  return { key: "path", value: path, descriptors: [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }] };
}

/** Envoy's cluster: the pods of a headless Service. */
export function podsCluster(dnsAddress: string, service: string, fields: Fields): Fields {
  return {
    type: "STRICT_DNS",
    dns_lookup_family: "V4_ONLY",
    dns_refresh_rate: "1s",
    typed_dns_resolver_config: {
      name: "envoy.network.dns_resolver.cares",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
        resolvers: [socketAddress(53, dnsAddress)],
      },
    },
    ...fields,
    ...endpoints("ratelimit", [socketAddress(8081, `${service}.svc.cluster.local`)]),
  };
}

/** URL of the HTTP listener of a pod. */
export function podUrl({ address }: NodePod): string {
  return `http://${address}:8080`;
}
