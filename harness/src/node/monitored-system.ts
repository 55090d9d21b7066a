// An installed Weir with an account service and what they depend on, on a node of its own, and parts that a test breaks.
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { loadAuthority } from "@weir/certificates/authority";
import { answerOfOldImage, ScriptedPod } from "../ads/scripted-pod.ts";
import { CHARTS, setFlags } from "../helm/helm.ts";
import { startMongo } from "../servers/mongo.ts";
import { startRedis } from "../servers/redis.ts";
import type { StoreServer } from "../servers/store-server.ts";
import { manifestOf } from "../weir/weir.ts";
import { installAccounts } from "./account-chart.ts";
import { weirImages } from "./image-archives.ts";
import { type NodePod, SYSTEM_NAMESPACE } from "./node-access.ts";
import { startNodePod } from "./node-pods.ts";
import { MONITORING_NAMESPACE } from "./prometheus.ts";
import { installMonitoringKinds, SELECTED } from "./prometheus-operator.ts";
import { type RealNode, startRealNode } from "./real-node.ts";

const DAY_MS = 86_400_000;

/** Longest wait of one kubectl command. */
const WAIT_TIMEOUT = "--timeout=120s";

/** Starts it; resolves when every program is ready. */
export async function startMonitoredSystem(): Promise<MonitoredSystem> {
  const images = await weirImages();
  const node = await startRealNode();
  const { host } = node.addresses;
  try {
    await node.importImages(images);
    const [redis, mongo] = await Promise.all([startRedis(node.folder, { host }), startMongo(node.folder, { host })]);
    const system = new MonitoredSystem(node, redis, mongo);
    await system.begin();
    return system;
  } catch (error) {
    await node.stop(); // The servers end with the test.
    throw error;
  }
}

/** The running system. */
export class MonitoredSystem {
  readonly node: RealNode;
  readonly redis: StoreServer;
  readonly mongo: StoreServer;
  /** When Helm began, on the clock of `performance`. */
  installedMs = NaN;
  readonly #clients: ScriptedPod[] = [];

  constructor(node: RealNode, redis: StoreServer, mongo: StoreServer) {
    this.node = node;
    this.redis = redis;
    this.mongo = mongo;
  }

  /** Installs Weir with a data plane that counts in Redis, the account service, and a limit; all with monitors. */
  async begin(): Promise<void> {
    const redis = { type: "single", single: { address: this.redis.address }, commandTimeout: "10s" };
    const spec = { replicas: 1, backend: { type: "redis", redis } };
    const monitor = { enabled: true, labels: SELECTED, interval: "1s" };
    const monitoring = { namespaces: [MONITORING_NAMESPACE], podMonitor: monitor };
    await installMonitoringKinds(this.node);
    this.installedMs = performance.now();
    await this.node.install(CHARTS, ...setFlags({ "rateLimitService.spec": spec, monitoring }));
    await installAccounts(this.node, this.mongo, CHARTS, ...setFlags({ serviceMonitor: monitor }));
    await this.applyLimit("mail", "day");
    for (const name of ["rls/ratelimit", "rlc/mail", "rlc/weir-account"])
      await this.kubectl("wait", "--for=condition=Ready", name, WAIT_TIMEOUT);
    await this.kubectl("rollout", "status", "deployment/weir-account", WAIT_TIMEOUT);
  }

  /** Runs kubectl in the namespace of the release. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await this.node.kubectl(["-n", SYSTEM_NAMESPACE, ...args]);
  }

  /** The only ready pod of a program, or one of them. */
  async pod(program: string): Promise<NodePod> {
    const pods = await this.node.pods(program, SYSTEM_NAMESPACE);
    return pods.find(({ isReady }) => isReady)!;
  }

  /** The address at which pods reach the control plane. */
  async controlPlaneAddress(): Promise<string> {
    return await this.kubectl("get", "service", "weir-control-plane", "-o", "jsonpath={.spec.clusterIP}");
  }

  /** Applies a limit per user of a domain of the same name. */
  async applyLimit(name: string, unit: string): Promise<void> {
    await this.apply(manifestOf(name, name, [{ key: "user", rateLimit: { unit, requestsPerUnit: 1000 } }]));
  }

  /** Applies a RateLimitService of one pod, which reserves little. */
  async applyService(name: string, namespace: string): Promise<void> {
    const spec = { replicas: 1, backend: { type: "memory" }, resources: {} };
    const head = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService" };
    await this.node.kubectl(["apply", "-f", "-"], JSON.stringify({ ...head, metadata: { name, namespace }, spec }));
  }

  /** Applies a manifest to the namespace of the release. */
  async apply(manifest: string): Promise<void> {
    await this.node.kubectl(["-n", SYSTEM_NAMESPACE, "apply", "-f", "-"], manifest);
  }

  /** Connects a client that NACKs limits per week, as a pod of an old image does. */
  async startOldPod(): Promise<void> {
    const { "ca.crt": ca, "ratelimit.crt": cert, "ratelimit.key": key } = await this.#secret("weir-ratelimit-tls");
    const tls = createSecureContext({ ca: ca!, cert: cert!, key: key! });
    const serverName = `weir-control-plane.${SYSTEM_NAMESPACE}.svc`;
    const place = { host: await this.controlPlaneAddress(), serverName, tls };
    this.#clients.push(new ScriptedPod(18_000, { nodeId: "old", answer: answerOfOldImage, ...place }));
  }

  /** Starts a rate limit pod whose only rule file is invalid, and its Service `rejecting`. */
  async startRejectingPod(namespace: string): Promise<void> {
    const env = { CONFIG_TYPE: "FILE", RUNTIME_ROOT: "/rules", RUNTIME_WATCH_ROOT: "false", BACKEND_TYPE: "memory" };
    const metrics = { USE_PUSHSTATS: "false", USE_PULLSTATS: "true", PULLSTATS_ADDR: ":9090" };
    await startNodePod(this.node, {
      namespace,
      name: "rejecting",
      image: await this.node.imageOf("ratelimit"),
      args: [],
      files: { "rules.yaml": "domain: [" },
      container: {
        env: Object.entries({ ...env, ...metrics }).map(([name, value]) => ({ name, value })),
        volumeMounts: [{ name: "files", mountPath: "/rules/config" }],
      },
    });
    await this.node.kubectl(["-n", namespace, "expose", "pod", "rejecting", "--port=9090"]);
  }

  /** Gives the control plane a certificate of yesterday, in all else as the operator makes it, which would renew it. */
  async expireCertificate(): Promise<void> {
    const { "tls.crt": cert, "tls.key": key } = await this.#secret("weir-ca");
    const authority = await loadAuthority(cert!, key!);
    const { subjectAltName } = new X509Certificate((await this.#secret("weir-control-plane-tls"))["tls.crt"]!);
    const dnsNames = subjectAltName!.split(", ").map((name) => name.replace("DNS:", ""));
    const names = { commonName: "weir-control-plane", dnsNames };
    const now = new Date(Date.now() - 2 * DAY_MS);
    const { certPem, keyPem } = await authority.issue({ ...names, usage: "both", validDays: 1, now });
    const stringData = { "tls.crt": certPem, "tls.key": keyPem };
    await this.kubectl("patch", "secret", "weir-control-plane-tls", "-p", JSON.stringify({ stringData }));
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.node.stop();
    await this.redis.stop();
    await this.mongo.stop();
  }

  async #secret(name: string): Promise<Readonly<Record<string, string>>> {
    return await this.node.secret(SYSTEM_NAMESPACE, name);
  }
}
