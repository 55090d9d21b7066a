// The programs of the operator's benchmark: an API server with two control plane replicas, simulated pods and
// the operator, each with the account and the rights that it has anywhere.
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";

import type { ProcessGroup } from "@weir/dev/processes/process-group";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { machineEnv } from "@weir/dev/setup/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";

import { type AuditedRequest, isWrite } from "@weir/harness/kubernetes/audit-log";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { type LimitsCluster, startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { tlsOf } from "@weir/harness/ads/scripted-pod";
import { ROOT, startPlanned } from "@weir/harness/processes/programs";
import { type Replica, startReplica } from "@weir/harness/weir/replica";
import { BenchmarkPod } from "../control-plane/pod.ts";
import { fillCluster } from "../control-plane/sets.ts";
import { E2eError } from "../../errors.ts";
import type { Bench } from "../run-benchmark.ts";
import { type StatusWatch, watchStatuses } from "./status-watch.ts";

/** Service of the replicas; the name in their certificates is `<service>.weir-system.svc`. */
export const SERVICE = "weir-control-plane-headless";

/** Resources in the cluster. */
export const RESOURCES = 2172;
/** Pods that are connected when nothing happens. */
export const PODS = 20;

/** Back-off of a pod that has lost its stream, in milliseconds. */
const BACKOFF_MS = [250, 1000] as const;

/** The benchmark that starts a fixture, with the certificates and the address for its programs. */
export interface FixturePlace extends Bench {
  readonly certificates: DevelopmentCertificates;
  /** Address of this machine at which the replicas are endpoints. */
  readonly address: string;
}

/** Starts everything but the pods, with all resources in the cluster; resolves when the operator is ready. */
export async function startFixture(place: FixturePlace): Promise<Fixture> {
  const folder = mkdtempSync(join(place.folder, "fixture-"));
  const file = (name: string): string => join(folder, name);
  const limits = await startLimitsCluster({ isAudited: true });
  place.onStarted(() => limits.stop());
  await installOperator(limits);
  const edit = await fillCluster(limits, { resources: RESOURCES, longRules: 0 });
  const watch = await watchStatuses(limits.cluster);
  place.onStarted(async () => watch.close());
  await limits.writeKubeconfig(file("control-plane"));
  await limits.writeKubeconfig(file("operator"), undefined, "weir-operator");
  const start = (): Promise<Replica> =>
    startReplica(
      { certificates: place.certificates, manifests: "" },
      { SOURCE: "kubernetes", KUBECONFIG: file("control-plane"), ADS_HOST: place.address, LOG_LEVEL: "error" },
    );
  const replicas = await Promise.all([start(), start()]);
  for (const { process } of replicas) place.onStarted(() => process.stop("SIGTERM", 5000));
  const operator = await startOperator(place.certificates, file("operator"));
  place.onStarted(() => operator.stop("SIGTERM", 5000));
  const fixture = new Fixture({ place, limits, watch, replicas, operator, edit });
  await fixture.setEndpoints(0, 1);
  return fixture;
}

/** The parts of a fixture. */
interface FixtureParts {
  readonly place: FixturePlace;
  readonly limits: LimitsCluster;
  readonly watch: StatusWatch;
  readonly replicas: readonly Replica[];
  readonly operator: ProcessGroup;
  readonly edit: Awaited<ReturnType<typeof fillCluster>>;
}

/** Everything that runs. */
export class Fixture {
  readonly watch: StatusWatch;
  readonly replicas: readonly Replica[];
  readonly operator: ProcessGroup;
  /** Gives one resource another limit. */
  readonly edit: (index: number, requestsPerUnit: number) => Promise<void>;
  readonly #place: FixturePlace;
  readonly #limits: LimitsCluster;
  readonly #pods: BenchmarkPod[] = [];
  #podCount = 0;

  constructor({ place, limits, watch, replicas, operator, edit }: FixtureParts) {
    this.#place = place;
    this.#limits = limits;
    this.watch = watch;
    this.replicas = replicas;
    this.operator = operator;
    this.edit = edit;
    place.onStarted(async () => {
      for (const pod of this.#pods) pod.close();
    });
  }

  /** Connects a new pod, each to another replica than the one before. */
  addPod(): void {
    const { address, certificates } = this.#place;
    const ports = this.replicas.map(({ adsPort }) => adsPort);
    const number = this.#podCount++;
    const pod = new BenchmarkPod(number, number % 2 === 0 ? ports : ports.toReversed(), {
      host: address,
      tls: tlsOf(certificates),
      backoffMs: BACKOFF_MS,
    });
    this.#pods.push(pod);
  }

  /** Disconnects the oldest pod. */
  removePod(): void {
    this.#pods.shift()?.close();
  }

  /** When the last ACK so far was written, in milliseconds since the epoch; undefined while a pod has ACKed nothing. */
  lastAckMs(): number | undefined {
    const times = this.#pods.map(({ arrivals }) => arrivals.at(-1)?.atMs);
    return times.includes(undefined) ? undefined : Math.max(...times.map((time) => time ?? 0));
  }

  /** Makes the replicas of these numbers the ready endpoints of the Service, as the controller of slices would. */
  async setEndpoints(...ready: readonly number[]): Promise<void> {
    const replicas = this.replicas.map(({ adsPort }, index) => ({ adsPort, isReady: ready.includes(index) }));
    await applyEndpoints(this.#limits.cluster, this.#place.address, replicas);
  }

  /** All writes of the operator so far, without those of its Lease. */
  writes(): readonly AuditedRequest[] {
    const requests = this.#limits.cluster.audit();
    return requests.filter((request) => request.account === "weir-operator" && isWrite(request));
  }
}

/** Makes the replicas at these ports the endpoints of the Service, as the controller of slices would. */
export async function applyEndpoints(
  cluster: KubernetesCluster,
  address: string,
  replicas: readonly { readonly adsPort: number; readonly isReady: boolean }[],
): Promise<void> {
  const labels = { "kubernetes.io/service-name": SERVICE };
  const slices = replicas.map(({ adsPort, isReady }, index) => {
    const targetRef = { kind: "Pod", name: `control-plane-${index}`, uid: `uid-${index}` };
    const endpoint = { addresses: [address], conditions: { ready: true }, targetRef };
    return JSON.stringify({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${SERVICE}-${index}`, namespace: "weir-system", labels },
      addressType: "IPv4",
      ports: [{ name: "ads", port: adsPort }],
      endpoints: isReady ? [endpoint] : [],
    });
  });
  await cluster.apply(slices.join("\n---\n"));
}

/** An address of this machine that an EndpointSlice may have: the API server takes none of the loopback network. */
export function machineAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const found = all.find(({ family, internal }) => family === "IPv4" && !internal);
  if (found === undefined)
    throw new E2eError("BENCHMARK_FAILED", "Cannot make endpoints: this machine has no IPv4 address but 127.0.0.1");
  return found.address;
}

async function installOperator({ cluster }: LimitsCluster): Promise<void> {
  await cluster.installKinds(...readdirSync(join(ROOT, "crds/crds")).map((name) => name.replace(".yaml", "")));
  const roles = ["service-account", "cluster-role", "cluster-role-binding", "own-namespace"];
  const files = [...roles.map((name) => `operator/rbac/${name}.yaml`), "control-plane/rbac/revision-reader.yaml"];
  await cluster.apply(files.map((path) => readFileSync(join(ROOT, path), "utf8")).join("\n---\n"));
}

/** Starts the operator of this checkout, with certificates from files; resolves when it is ready. */
export async function startOperator(certificates: DevelopmentCertificates, kubeconfig: string): Promise<ProcessGroup> {
  const port = await reservePort();
  return startPlanned({
    name: "operator",
    launcher: "weir-operator",
    readyUrl: `http://${STACK_HOST}:${port}/readyz`,
    env: {
      // eslint-disable-next-line no-restricted-syntax -- the program needs the PATH of the machine
      ...machineEnv(process.env),
      LOG_LEVEL: "error",
      OPERATOR_NAMESPACE: "weir-system",
      KUBECONFIG: kubeconfig,
      HTTP_HOST: STACK_HOST,
      HTTP_PORT: String(port),
      CERTIFICATES: "external",
      CONTROL_PLANE_TLS_CACERT: certificates.ca.cert,
      CONTROL_PLANE_TLS_CERT: certificates.rateLimit.cert,
      CONTROL_PLANE_TLS_KEY: certificates.rateLimit.key,
    },
  });
}
