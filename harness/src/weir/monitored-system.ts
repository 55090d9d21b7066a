// Every program of Weir with what it depends on, and the addresses of its metrics: healthy after the start, and with
// parts that a test breaks.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadAuthority } from "@weir/certificates/authority";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import type { CertificatePaths } from "@weir/dev/setup/certificates";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { machineEnv, planPrograms } from "@weir/dev/setup/programs";
import { reservePort } from "../processes/reserve-ports.ts";
import { mongoUri, startMongo } from "../servers/mongo.ts";
import { startRedis } from "../servers/redis.ts";
import type { StoreServer } from "../servers/store-server.ts";
import { makeTemporaryFolder } from "../processes/temporary-folder.ts";
import { type Weir, manifestOf, startWeir } from "./weir.ts";
import { type LimitsCluster, startLimitsCluster } from "../kubernetes/limits-cluster.ts";
import { startOldImageRelay } from "../ads/old-image-relay.ts";
import type { Pod } from "./pod.ts";
import { anyPorts, type Env, launcher, ROOT, startPlanned } from "../processes/programs.ts";
import type { ScrapeTarget } from "../servers/prometheus.ts";
import type { Replica } from "./replica.ts";
import { startProcess } from "../processes/start-process.ts";

/** How long a program may take to stop, in milliseconds. */
const STOP_GRACE_MS = 10_000;

/** A manifest for a domain of the same name with one limit per user. */
export function limitOf(name: string, unit: string): string {
  return manifestOf(name, name, [{ key: "user", rateLimit: { unit, requestsPerUnit: 1000 } }]);
}

/** The running system. */
export interface MonitoredSystem {
  /** Temporary folder of the test. */
  readonly folder: string;
  /** Every program, also those that start later. */
  readonly targets: readonly ScrapeTarget[];
  readonly limits: LimitsCluster;
  readonly redis: StoreServer;
  readonly mongo: StoreServer;
  readonly flow: Weir;
  readonly pod: Pod;
  /** A control plane over a folder. */
  readonly second: SecondControlPlane;
  readonly operator: Operator;
  readonly account: Account;
  /** Starts a pod that NACKs limits per week, as an old image does. */
  startOldPod(): Promise<void>;
  /** Starts a pod whose only rule file is invalid from the start. */
  startRejectingPod(): Promise<void>;
  /** Starts another control plane for the cluster, and does not wait until it is ready. */
  startLateControlPlane(): Promise<ProcessGroup>;
  /** Ends everything. */
  stop(): Promise<void>;
}

interface SecondControlPlane {
  readonly replica: Replica;
  /** Removes everything that it serves. */
  removeLimits(): void;
  /** Gives it a certificate for three days. */
  shortenCertificate(): Promise<void>;
}

interface Operator {
  readonly process: ProcessGroup;
  /** Of its metrics. */
  readonly address: string;
  readonly webhookPort: number;
}

interface Account {
  readonly process: ProcessGroup;
  readonly url: string;
  /** Address of its metrics. */
  readonly metrics: string;
}

/** What ends with the test, in reverse order. */
class Owned {
  readonly #stops: (() => unknown)[] = [];

  add<T>(started: T, end: (started: T) => unknown): T {
    this.#stops.push(() => end(started));
    return started;
  }

  async stop(): Promise<void> {
    for (const each of this.#stops.toReversed()) await each();
  }
}

/** Starts it; resolves when every program is ready. */
export async function startMonitoredSystem(): Promise<MonitoredSystem> {
  const owned = new Owned();
  try {
    return await startAll(owned);
  } catch (error) {
    await owned.stop();
    throw error;
  }
}

async function startAll(owned: Owned): Promise<MonitoredSystem> {
  const folder = owned.add(makeTemporaryFolder(), (each) => each.remove()).path;
  const [limits, redis, mongo] = await Promise.all([
    startLimitsCluster().then((started) => owned.add(started, (each) => each.stop())),
    startRedis(folder).then((started) => owned.add(started, (each) => each.stop())),
    startMongo(folder).then((started) => owned.add(started, (each) => each.stop())),
  ]);
  await install(limits);
  const kubeconfig = join(folder, "kubeconfig");
  await limits.writeKubeconfig(kubeconfig);
  const source = { SOURCE: "kubernetes", SOURCE_DIRECTORY: "", KUBECONFIG: kubeconfig };
  const flow = owned.add(await startWeir(folder, { controlPlaneEnv: source }), (each) => each.stop());
  const [metrics, oldMetrics] = [await metricsAddress(), await metricsAddress()];
  const [rejectingMetrics, late] = [await metricsAddress(), await metricsAddress()];
  const redisEnv = { BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "tcp", REDIS_URL: redis.address };
  const pod = await flow.startPod({ ...redisEnv, KVSTORE_COMMAND_TIMEOUT: "10s", PULLSTATS_ADDR: metrics });
  const second = owned.add(await startSecond(folder), ({ replica }) => end(replica.process));
  const operator = owned.add(await startOperator(limits, folder, flow.certificates.controlPlane), endOf);
  const rateLimit = `${STACK_HOST}:${pod.grpcPort}`;
  const account = owned.add(await startAccount({ folder, mongoPort: mongo.port, rateLimit }), endOf);
  const targets = Object.entries({
    "weir-control-plane": new URL(flow.controlPlane.url).host,
    "second-control-plane": new URL(second.replica.url).host,
    "late-control-plane": late,
    ratelimit: metrics,
    "old-ratelimit": oldMetrics,
    "rejecting-ratelimit": rejectingMetrics,
    "weir-operator": operator.address,
    "weir-account": account.metrics,
  }).map(([job, address]) => ({ job, address }));
  return {
    ...{ folder, targets, limits, redis, mongo, flow, pod, second, operator, account },
    async startOldPod() {
      const relay = await startOldImageRelay(flow.controlPlane.adsPort, flow.certificates);
      owned.add(relay, (each) => each.stop());
      await flow.startPod({ ...relay.podEnv, CONFIG_GRPC_XDS_NODE_ID: "edge/old", PULLSTATS_ADDR: oldMetrics });
    },
    async startRejectingPod() {
      const files = join(folder, "rejected");
      mkdirSync(join(files, "config"), { recursive: true });
      writeFileSync(join(files, "config", "rules.yaml"), "domain: [");
      const source = { CONFIG_TYPE: "FILE", RUNTIME_ROOT: files, RUNTIME_WATCH_ROOT: "false" };
      owned.add(await startQuietly("weir-ratelimit", { ...source, ...(await podEnv(rejectingMetrics)) }), end);
    },
    async startLateControlPlane() {
      const http = { HTTP_HOST: STACK_HOST, HTTP_PORT: portOf(late) };
      const env = { ...http, ADS_PLAINTEXT: "true", ADS_HOST: STACK_HOST, ADS_PORT: "0", ...source };
      return owned.add(await startQuietly("weir-control-plane", env), end);
    },
    stop: () => owned.stop(),
  };
}

function end(process: ProcessGroup): Promise<unknown> {
  return process.stop("SIGTERM", STOP_GRACE_MS);
}

function endOf({ process }: { readonly process: ProcessGroup }): Promise<unknown> {
  return end(process);
}

function portOf(address: string): string {
  return new URL(`http://${address}`).port;
}

/** The settings of a pod that is alone, with its metrics at this address. */
async function podEnv(metrics: string): Promise<Env> {
  const ports = await anyPorts();
  return {
    ...{ HOST: STACK_HOST, PORT: String(ports.rateLimitHttp), GRPC_HOST: STACK_HOST, DEBUG_HOST: STACK_HOST },
    ...{ GRPC_PORT: String(ports.rateLimitGrpc), DEBUG_PORT: String(ports.rateLimitDebug), BACKEND_TYPE: "memory" },
    ...{ USE_PUSHSTATS: "false", USE_PULLSTATS: "true", PULLSTATS_ADDR: metrics },
  };
}

/** The kinds, the operator's roles, a control plane's right to read last good forms, and limits. */
async function install(limits: LimitsCluster): Promise<void> {
  const { cluster } = limits;
  const texts = [
    ...readdirSync(join(ROOT, "crds/crds")).map((name) => join("crds/crds", name)),
    ...["service-account", "cluster-role", "cluster-role-binding", "own-namespace", "webhook"].map(
      (name) => `operator/rbac/${name}.yaml`,
    ),
    "control-plane/rbac/revision-reader.yaml",
  ].map((path) => readFileSync(join(ROOT, path), "utf8"));
  await cluster.apply(texts.join("\n---\n"));
  const { code, stderr } = await cluster.kubectl([
    "wait",
    "--for=condition=Established",
    "--timeout=60s",
    "crd",
    "--all",
  ]);
  if (code !== 0) throw new Error(`The kinds are not established: ${stderr}`);
  await limits.apply("mail", limitOf("mail", "day"));
  await limits.apply("account", readFileSync(join(ROOT, "examples/limits/account.yaml"), "utf8"));
}

/** A control plane over a folder, with its certificate in a folder of its own. */
async function startSecond(folder: string): Promise<SecondControlPlane> {
  const own = join(folder, "second");
  const env = { ALLOW_EMPTY_AFTER: "1h" };
  const flow = await startWeir(own, { manifests: { "search.yaml": limitOf("search", "day") }, controlPlaneEnv: env });
  const { ca, controlPlane } = flow.certificates;
  return {
    replica: flow.controlPlane,
    removeLimits: () => flow.removeManifest("search.yaml"),
    async shortenCertificate() {
      const authority = await loadAuthority(readFileSync(ca.cert, "utf8"), readFileSync(ca.key, "utf8"));
      const wanted = { commonName: "second", dnsNames: ["localhost"], usage: "server", validDays: 3 } as const;
      const issued = await authority.issue({ ...wanted, now: new Date() });
      writeFileSync(controlPlane.key, issued.keyPem);
      writeFileSync(controlPlane.cert, issued.certPem);
    },
  };
}

async function startOperator(limits: LimitsCluster, folder: string, webhook: CertificatePaths): Promise<Operator> {
  const kubeconfig = join(folder, "operator-kubeconfig");
  await limits.writeKubeconfig(kubeconfig, undefined, "weir-operator");
  const address = await metricsAddress();
  const webhookPort = await reservePort();
  const process = await startQuietly("weir-operator", {
    ...{ HTTP_HOST: STACK_HOST, HTTP_PORT: portOf(address), KUBECONFIG: kubeconfig, LEASE_DURATION: "6s" },
    ...{
      LEASE_RENEW_DEADLINE: "4s",
      LEASE_RETRY_PERIOD: "1s",
      WEBHOOK_HOST: STACK_HOST,
      WEBHOOK_PORT: `${webhookPort}`,
    },
    ...{ WEBHOOK_TLS_CERT: webhook.cert, WEBHOOK_TLS_KEY: webhook.key },
  });
  await process.waitUntilReady(`http://${address}/readyz`, 120_000);
  return { process, address, webhookPort };
}

async function startAccount(place: {
  readonly folder: string;
  readonly mongoPort: number;
  readonly rateLimit: string;
}): Promise<Account> {
  const ports = await anyPorts();
  const certificates = { ca: NONE, controlPlane: NONE, rateLimit: NONE, renewed: [] };
  const accountDirectory = join(place.folder, "account");
  // eslint-disable-next-line no-restricted-syntax -- the programs need the PATH of the machine
  const stack = { ports, certificates, sourceDirectory: "", accountDirectory, machine: process.env };
  const plan = planPrograms(stack).account;
  const env = {
    ...plan.env,
    ...{ STORE: "mongo", MONGODB_URI: mongoUri(place.mongoPort), RATE_LIMIT_GRPC: place.rateLimit },
    // Expensive hashes, one at a time: ten logins at once are too much.
    ...{
      TRUST_PROXY: "1",
      BCRYPT_COST: "14",
      BCRYPT_CONCURRENCY: "1",
      RATE_LIMIT_FAILURE: "open",
      RATE_LIMIT_TIMEOUT: "5s",
    },
  };
  return {
    process: await startPlanned({ ...plan, env }),
    url: `http://${STACK_HOST}:${ports.accountHttp}/api/v1/user`,
    metrics: `${STACK_HOST}:${ports.accountMetrics}`,
  };
}

const NONE = { cert: "", key: "" };

async function metricsAddress(): Promise<string> {
  return `${STACK_HOST}:${await reservePort()}`;
}

function startQuietly(program: string, env: Env): Promise<ProcessGroup> {
  // eslint-disable-next-line no-restricted-syntax -- the programs need the PATH of the machine
  const machine = machineEnv(process.env);
  const lasting = { SHUTDOWN_DRAIN: "0s", SHUTDOWN_GRACE: "2s" };
  return startProcess({
    name: program,
    command: launcher(program),
    env: { ...machine, ...lasting, ...env },
    cwd: ROOT,
  });
}
