// A cluster with two real control plane replicas, scripted pods and the writer of statuses, for tests. Only
// tests import it.
import { cannotLoad, ScriptedPod, tlsOf } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { makeCertificates, type Replica, type ReplicaCertificates, startReplica } from "@weir/harness/weir/replica";
import { manifestOf } from "@weir/harness/weir/weir";

import type { JsonObject } from "@bufbuild/protobuf";
import type { ReadyPods } from "./reports/merged-reports.ts";
import { ObjectCache } from "./reconcile/object-cache.ts";
import { startStatusWriter } from "./status-writer.suite.ts";

/** A condition for comparisons: `True Valid`. */
export type ConditionTexts = Readonly<Record<string, string>>;

/** Everything that runs. */
export class StatusFixture {
  readonly cluster: KubernetesCluster;
  readonly certificates: ReplicaCertificates;
  readonly replicas: readonly Replica[];
  readonly slices = new ObjectCache();
  /** The ready pods that the writer of statuses knows; a test sets the fleets. */
  readonly readyPods = {
    fleets: new Map<string, ReadyPods>(),
    listeners: [] as (() => void)[],
    byFleet: (): ReadonlyMap<string, ReadyPods> => this.readyPods.fleets,
    onChange: (listener: () => void): void => void this.readyPods.listeners.push(listener),
  };
  /** Writes of statuses so far, by name of the object. */
  readonly writes = new Map<string, number>();
  readonly #pods: ScriptedPod[] = [];
  #stopOperator = (): Promise<void> => Promise.resolve();
  #sliceVersion = 0;

  constructor(cluster: KubernetesCluster, certificates: ReplicaCertificates, replicas: readonly Replica[]) {
    this.cluster = cluster;
    this.certificates = certificates;
    this.replicas = replicas;
  }

  /** Makes the replicas of these numbers the ready endpoints. */
  setEndpoints(...ready: readonly number[]): void {
    for (const [index, { adsPort }] of this.replicas.entries()) this.#putSlice(index, adsPort, ready.includes(index));
  }

  async startOperator(): Promise<void> {
    this.#stopOperator = await startStatusWriter(this);
  }

  async stopOperator(): Promise<void> {
    await this.#stopOperator();
    this.#stopOperator = () => Promise.resolve();
  }

  /** Makes these the ready pods of a fleet that a RateLimitService owns; all at the address of this machine. */
  setReadyPods(fleet: string, ...names: readonly string[]): void {
    const addresses = new Map(names.map((name) => [name, new Set(["127.0.0.1"])]));
    this.readyPods.fleets = new Map([
      ...this.readyPods.fleets,
      [fleet, { addresses, ready: new Set(names), awaited: new Set(names) }],
    ]);
    for (const listener of this.readyPods.listeners) listener();
  }

  /** Connects a pod that NACKs resources of one domain. */
  pod(nodeId: string, replica = 0, rejects?: string, metadata: JsonObject = {}): ScriptedPod {
    const pod = new ScriptedPod(this.replicas[replica]!.adsPort, {
      nodeId,
      metadata,
      tls: tlsOf(this.certificates),
      answer: cannotLoad(({ domain }) => domain === rejects, "no such unit"),
    });
    this.#pods.push(pod);
    return pod;
  }

  /** Applies a resource with one rule; `unit` may be one that only the validator refuses. */
  async apply(name: string, { domain = name, limit = 1, fleets }: ConfigOptions = {}): Promise<void> {
    const rule = { key: "user", rateLimit: { unit: "day", requestsPerUnit: limit } };
    await this.cluster.apply(manifestOf(name, domain, [rule], { namespace: "shop", fleets }));
  }

  async kubectl(...args: readonly string[]): Promise<string> {
    return await this.cluster.run(args);
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
    for (const { process } of this.replicas) await process.end();
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
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
    readonly pods?: { readonly summary?: string };
    readonly fleets?: readonly { readonly name: string }[];
    readonly rejections?: readonly { pod: string; message: string }[];
    readonly problems?: readonly { field: string; message: string }[];
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
    await cluster.createNamespaces("weir-system", "shop");
    await cluster.installKinds("ratelimitconfigs");
    const certificates = await makeCertificates(cluster.folder, "control-plane.weir-system.svc");
    const env = { SOURCE: "kubernetes", KUBECONFIG: cluster.kubeconfigPath, ALLOW_EMPTY_AFTER: "0s" };
    while (replicas.length < 2) replicas.push(await startReplica({ certificates, manifests: "" }, env));
    const fixture = new StatusFixture(cluster, certificates, replicas);
    fixture.setEndpoints(0, 1);
    return fixture;
  } catch (error) {
    for (const { process } of replicas) await process.end();
    await cluster.stop();
    throw error;
  }
}
