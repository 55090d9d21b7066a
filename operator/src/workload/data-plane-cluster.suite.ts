// A whole cluster with the controller of RateLimitServices, a control plane over mutual TLS and a Redis.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { ObjectClient, type WrittenObject } from "@weir/kubernetes/client/object-client";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { startRedis } from "@weir/harness/servers/redis";
import { Registry } from "prom-client";

import type { EventText } from "../events/event-recorder.ts";
import { ClusterCaches } from "../reconcile/cluster-caches.ts";
import type { Controller } from "../reconcile/controller.ts";
import { ControllerMetricsSet } from "../reconcile/controller-metrics.ts";
import { RATE_LIMIT_SERVICES } from "./owned-kinds.ts";
import { ProgramProcess } from "./pod-process.suite.ts";
import { createWorkloadController } from "./workload-controller.ts";

const TIMEOUTS = { answerTimeoutMs: 20_000, silenceTimeoutMs: 100_000, slowAfterMs: 20_000 };
const PACE = { backoffInitialMs: 50, backoffMaxMs: 1000, slowMs: 20_000, optionalSlowMs: 1000 };
const CRDS = ["ratelimitservices", "ratelimitconfigs"].map((name) =>
  readFileSync(join(import.meta.dirname, `../../../crds/crds/${name}.yaml`), "utf8"),
);
const PASSWORD = "secret";
const VALIDITY = { now: new Date(), validDays: 1 } as const;

/** Notifies of what is applied. */
class WatchedClient extends ObjectClient {
  readonly #applied: (name: WrittenObject["metadata"]) => void;

  constructor(client: ApiClient, applied: (name: WrittenObject["metadata"]) => void) {
    super(client);
    this.#applied = applied;
  }

  override async apply(...[kind, object, ...rest]: Parameters<ObjectClient["apply"]>): Promise<KubernetesObject> {
    this.#applied(object.metadata);
    return await super.apply(kind, object, ...rest);
  }
}

/** A manifest as JSON, which is YAML too. */
export function manifest(
  apiVersion: string,
  kind: string,
  [namespace, name]: readonly [string, string],
  rest: object,
): string {
  return JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, ...rest });
}

/** The manifest of a RateLimitService. */
export function service(namespace: string, name: string, spec: object): string {
  return manifest("ratelimit.weir.dev/v1alpha1", "RateLimitService", [namespace, name], { spec });
}

/** The cluster, with the namespaces shop, shop2 and other. */
export class DataPlaneCluster {
  readonly cluster: KubernetesCluster;
  /** What the controller has recorded. */
  readonly events: (EventText & { name: string })[] = [];
  /** Names of the pods that count as connected. */
  readonly connected = new Set<string>();
  /** Names of what was written in the namespace other, and each look at its resources. */
  readonly applied: string[] = [];
  readonly looks: string[] = [];
  /** A spec with the Redis. */
  readonly spec: object;
  readonly #client: ApiClient;
  readonly #adsPort: number;
  #caches: ClusterCaches;
  #controller: Controller;
  readonly #stop: () => Promise<void>;

  private constructor(
    cluster: KubernetesCluster,
    client: ApiClient,
    { adsPort, redisAddress, stop }: { adsPort: number; redisAddress: string; stop: () => Promise<void> },
  ) {
    this.cluster = cluster;
    this.#client = client;
    this.#stop = stop;
    this.spec = {
      backend: {
        type: "redis",
        redis: {
          type: "single",
          single: { address: redisAddress },
          auth: { passwordSecretRef: { name: "store", key: "pass" } },
        },
      },
      podAnnotations: { team: "limits" },
    };
    this.#adsPort = adsPort;
    [this.#caches, this.#controller] = this.#create();
  }

  static async start(): Promise<DataPlaneCluster> {
    const cluster = await startKubernetesCluster({ full: true });
    await cluster.apply(CRDS.join("\n---\n"));
    const namespaces = ["shop", "shop2", "other"].map(
      (name) => `{apiVersion: v1, kind: Namespace, metadata: {name: ${name}}}`,
    );
    await cluster.apply(namespaces.join("\n---\n"));
    await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    const redis = await startRedis(cluster.folder, { flags: ["--requirepass", PASSWORD] });
    const [adsPort = 0, httpPort = 0] = await reservePorts(2);
    const env = await prepareControlPlane(cluster, { adsPort, httpPort });
    const controlPlane = new ProgramProcess("weir-control-plane", env);
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
    const client = new ApiClient(access, TIMEOUTS, { userAgent: "test" });
    const stop = async (): Promise<void> => {
      await controlPlane.stop();
      await redis.stop();
      await cluster.stop();
    };
    const started = new DataPlaneCluster(cluster, client, { adsPort, redisAddress: redis.address, stop });
    await started.#begin();
    return started;
  }

  /** Puts another controller in place of this one, as with another leader: it reads the cluster anew. */
  async replaceController(): Promise<void> {
    await this.#end();
    [this.#caches, this.#controller] = this.#create();
    await this.#begin();
  }

  async stop(): Promise<void> {
    await this.#end();
    await this.#client.close();
    await this.#stop();
  }

  /** The output of kubectl; throws when it fails. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.cluster.kubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  async get(kind: string, name: string, namespace = "shop"): Promise<Mapping> {
    return JSON.parse(await this.kubectl("get", kind, name, "-n", namespace, "--output=json")) as Mapping;
  }

  async list(kind: string, namespace = "shop"): Promise<readonly Mapping[]> {
    const { items } = JSON.parse(await this.kubectl("get", kind, "-n", namespace, "--output=json")) as Mapping;
    return mappingsOf(items);
  }

  /** Conditions of a RateLimitService as texts, such as `True PodsReady`. */
  async conditionsOf(name: string, namespace = "shop"): Promise<Readonly<Record<string, string>>> {
    const { conditions } = fieldsOf((await this.get("rls", name, namespace))["status"]);
    return Object.fromEntries(
      mappingsOf(conditions).map(({ type, status, reason }) => [String(type), `${String(status)} ${String(reason)}`]),
    );
  }

  async #begin(): Promise<void> {
    await this.#caches.start();
    this.#controller.start();
  }

  async #end(): Promise<void> {
    await this.#controller.stop();
    this.#caches.stop();
  }

  #create(): [ClusterCaches, Controller] {
    const client = this.#client;
    const deps = { client, log: silentLog(), clock: Date.now, monotonicMs: () => performance.now(), random: () => 0.5 };
    const caches = new ClusterCaches(deps, PACE);
    const controller = createWorkloadController(
      {
        ...deps,
        caches,
        services: caches.follow(RATE_LIMIT_SERVICES),
        objects: new WatchedClient(client, ({ namespace, name }) => {
          if (namespace === "other") this.applied.push(name);
        }),
        metrics: new ControllerMetricsSet(new Registry()),
        events: { record: ({ name }, event) => void this.events.push({ name, ...event }) },
        connections: {
          connectedPods: (namespace) => {
            if (namespace === "other") this.looks.push(namespace);
            return this.connected;
          },
        },
      },
      {
        concurrency: 4,
        resyncMs: 600_000,
        namespaces: undefined,
        workload: { image: "weir:1", controlPlane: { address: `127.0.0.1:${this.#adsPort}`, isPlaintext: false } },
      },
    );
    return [caches, controller];
  }
}

/**
 * Writes the certificates of the control plane, and the Secrets of the pods; the environment of a control
 * plane that takes the fleet from a pod's certificate.
 */
async function prepareControlPlane(
  cluster: KubernetesCluster,
  { adsPort, httpPort }: { readonly adsPort: number; readonly httpPort: number },
): Promise<Record<string, string>> {
  const authority = await createAuthority({ commonName: "weir", ...VALIDITY });
  const server = await authority.issue({
    commonName: "weir-control-plane",
    ipAddresses: ["127.0.0.1"],
    usage: "server",
    ...VALIDITY,
  });
  const uris = ["spiffe://cluster.local/ns/shop/fleet/shop.limits"];
  const pod = await authority.issue({ commonName: "limits", uris, usage: "client", ...VALIDITY });
  const path = (name: string): string => join(cluster.folder, name);
  writeFileSync(path("ads-ca.crt"), authority.certPem);
  writeFileSync(path("ads.crt"), server.certPem);
  writeFileSync(path("ads.key"), server.keyPem);
  const pair = { "limits.crt": pod.certPem, "limits.key": pod.keyPem, "ca.crt": authority.certPem };
  await cluster.apply(manifest("v1", "Secret", ["shop", "weir-ratelimit-tls"], { stringData: pair }));
  await cluster.apply(manifest("v1", "Secret", ["shop", "store"], { stringData: { pass: PASSWORD } }));
  return {
    SOURCE: "kubernetes",
    KUBECONFIG: cluster.kubeconfigPath,
    ADS_HOST: "127.0.0.1",
    ADS_PORT: String(adsPort),
    ADS_TLS_CERT: path("ads.crt"),
    ADS_TLS_KEY: path("ads.key"),
    ADS_TLS_CLIENT_CACERT: path("ads-ca.crt"),
    ADS_FLEET_FROM_CERTIFICATE: "true",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: String(httpPort),
  };
}
