// A cluster with two real control plane replicas, scripted pods and the writer of statuses, for tests. Only
// tests import it.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { cannotLoad, ScriptedPod, tlsOf } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { ServerProcess } from "@weir/harness/processes/server-process";
import { type CertificateFiles, writeCertificates } from "@weir/harness/servers/certificate-files";

import { ObjectCache } from "./reconcile/object-cache.ts";
import { RunningOperator } from "./running-operator.suite.ts";

const ROOT = join(import.meta.dirname, "../..");
/** A replica, and the address at which it is an endpoint. */
interface Replica {
  readonly process: ServerProcess;
  readonly adsPort: number;
  readonly httpPort: number;
}

/** A condition for comparisons: `True Valid`. */
export type ConditionTexts = Readonly<Record<string, string>>;

/** Everything that runs. */
export class StatusFixture {
  readonly cluster: KubernetesCluster;
  readonly certificates: CertificateFiles;
  readonly replicas: readonly Replica[];
  readonly slices = new ObjectCache();
  /** Writes of statuses so far, by name of the object. */
  readonly writes = new Map<string, number>();
  readonly #pods: ScriptedPod[] = [];
  #operator: RunningOperator | undefined;
  #sliceVersion = 0;

  constructor(cluster: KubernetesCluster, certificates: CertificateFiles, replicas: readonly Replica[]) {
    this.cluster = cluster;
    this.certificates = certificates;
    this.replicas = replicas;
  }

  /** Makes the replicas of these numbers the ready endpoints. */
  setEndpoints(...ready: readonly number[]): void {
    for (const [index, { adsPort }] of this.replicas.entries()) this.#putSlice(index, adsPort, ready.includes(index));
  }

  async startOperator(): Promise<void> {
    this.#operator = await RunningOperator.start(this);
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** Connects a pod that NACKs resources of one domain. */
  pod(nodeId: string, replica = 0, rejects?: string): ScriptedPod {
    const pod = new ScriptedPod(this.replicas[replica]!.adsPort, {
      nodeId,
      tls: tlsOf(this.certificates),
      answer: cannotLoad(({ domain }) => domain === rejects, "no such unit"),
    });
    this.#pods.push(pod);
    return pod;
  }

  /** Applies a resource with one rule; `unit` may be one that only the validator refuses. */
  async apply(name: string, { domain = name, limit = 1, fleets }: ConfigOptions = {}): Promise<void> {
    await this.cluster.apply(configText(name, { domain, limit, fleets }));
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.cluster.kubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  }

  async get(name: string): Promise<StatusObject> {
    return JSON.parse(await this.kubectl("get", "rlc", name, "--namespace=shop", "--output=json")) as StatusObject;
  }

  /** Waits until the conditions of the present generation are these, and returns the object. */
  async expectConditions(name: string, expected: ConditionTexts, timeoutMs?: number): Promise<StatusObject> {
    return await eventually(
      `the conditions of ${name}`,
      async () => {
        const object = await this.get(name);
        const found = conditionTexts(object);
        for (const [type, text] of Object.entries(expected)) {
          if (found[type] !== text) throw new Error(JSON.stringify(object.status, null, 1));
        }
        if (object.status?.observedGeneration !== object.metadata.generation) throw new Error("an earlier generation");
        return object;
      },
      timeoutMs,
    );
  }

  /** Waits until the summary of a resource's pods is this. */
  async expectPods(name: string, summary: string): Promise<void> {
    await eventually(`${summary} pods of ${name}`, async () => {
      const found = (await this.get(name)).status?.pods?.summary;
      if (found !== summary) throw new Error(`there are ${found}`);
    });
  }

  async stop(): Promise<void> {
    await this.stopOperator();
    for (const pod of this.#pods) pod.close();
    for (const { process } of this.replicas) await process.kill();
    await this.cluster.stop();
  }

  #putSlice(index: number, port: number, isReady: boolean): void {
    this.#sliceVersion += 1;
    const name = `slice-${index}`;
    const labels = { "kubernetes.io/service-name": "control-plane" };
    const targetRef = { name: `control-plane-${index}`, uid: `uid-${index}` };
    this.slices.put({
      name,
      namespace: "weir-system",
      uid: name,
      resourceVersion: String(this.#sliceVersion),
      generation: undefined,
      content: {
        metadata: { name, labels },
        ports: [{ name: "ads", port }],
        endpoints: isReady ? [{ addresses: ["127.0.0.1"], conditions: { ready: true }, targetRef }] : [],
      },
    });
  }
}

interface ConfigOptions {
  readonly domain?: string;
  readonly limit?: number;
  readonly fleets?: readonly string[] | undefined;
}

/** A resource as the API server has it. */
export interface StatusObject {
  readonly metadata: { readonly generation: number; readonly resourceVersion: string };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
    readonly pods?: { readonly summary?: string };
    readonly rejections?: readonly { pod: string; message: string }[];
    readonly fleets?: readonly { name: string; version?: string; total?: number }[];
    readonly problems?: readonly { field: string; message: string }[];
    readonly servesLastGood?: boolean;
  };
}

/** The conditions as texts. */
export function conditionTexts({ status }: StatusObject): ConditionTexts {
  return Object.fromEntries(
    (status?.conditions ?? []).map(({ type, status: is, reason }) => [type, `${is} ${reason}`]),
  );
}

/** Starts everything but the operator; both replicas are endpoints. */
export async function startStatusFixture(): Promise<StatusFixture> {
  const cluster = await startKubernetesCluster();
  const replicas: Replica[] = [];
  try {
    for (const name of ["weir-system", "shop"])
      await cluster.apply(`apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n`);
    await installCrd(cluster);
    const certificates = await writeCertificates(cluster.folder, ["control-plane.weir-system.svc"]);
    for (const index of [0, 1]) replicas.push(await startReplica(cluster, certificates, index));
    const fixture = new StatusFixture(cluster, certificates, replicas);
    fixture.setEndpoints(0, 1);
    return fixture;
  } catch (error) {
    for (const { process } of replicas) await process.kill();
    await cluster.stop();
    throw error;
  }
}

/** Installs the kind and waits until it is served. */
export async function installCrd(cluster: KubernetesCluster): Promise<void> {
  await cluster.apply(readFileSync(join(ROOT, "crds/crds/ratelimitconfigs.yaml"), "utf8"));
  const crd = "crd/ratelimitconfigs.ratelimit.weir.dev";
  const { code, stderr } = await cluster.kubectl(["wait", "--for=condition=Established", "--timeout=60s", crd]);
  if (code !== 0) throw new Error(stderr);
}

async function startReplica(cluster: KubernetesCluster, files: CertificateFiles, index: number): Promise<Replica> {
  const [adsPort = 0, httpPort = 0] = await reservePorts(2);
  const settings = {
    SOURCE: "kubernetes",
    KUBECONFIG: cluster.kubeconfigPath,
    ADS_HOST: "127.0.0.1",
    ADS_PORT: adsPort,
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: httpPort,
    ADS_TLS_CERT: files.serverCert,
    ADS_TLS_KEY: files.serverKey,
    ADS_TLS_CLIENT_CACERT: files.ca,
    ALLOW_EMPTY_AFTER: "0s",
  };
  const env = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const program = [process.execPath, "--conditions=source", join(ROOT, "control-plane/src/main.ts")];
  const replica = new ServerProcess({
    name: `control plane ${index}`,
    command: "/usr/bin/env",
    args: [...env, ...program],
    logPath: join(cluster.folder, `control-plane-${index}.log`),
  });
  await replica.startAndWait(async () => {
    const { status } = await fetch(`http://127.0.0.1:${httpPort}/readyz`);
    if (status !== 200) throw new Error(`/readyz answered ${status}`);
  });
  return { process: replica, adsPort, httpPort };
}

function configText(name: string, { domain, limit, fleets }: ConfigOptions): string {
  const descriptors = [{ key: "user", rateLimit: { unit: "day", requestsPerUnit: limit } }];
  return JSON.stringify({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata: { name, namespace: "shop" },
    spec: { domain, fleets, descriptors },
  });
}
