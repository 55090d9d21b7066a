// The parts of the operator that write statuses, in a test. Only tests import it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import { createLog } from "@weir/common/log/log";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { ObjectClient } from "@weir/kubernetes/client/object-client";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import type { CertificateFiles } from "@weir/harness/servers/certificate-files";
import { Registry } from "prom-client";

import { EventRecorder } from "./events/event-recorder.ts";
import { ClusterCaches } from "./reconcile/cluster-caches.ts";
import { ControllerMetricsSet } from "./reconcile/controller-metrics.ts";
import type { ObjectCache } from "./reconcile/object-cache.ts";
import { ENDPOINT_SLICES } from "./reports/replica-endpoints.ts";
import { createStatusParts } from "./status-parts.ts";

const TIMES = {
  backoffInitialMs: 100,
  backoffMaxMs: 1000,
  slowMs: 1000,
  answerTimeoutMs: 20_000,
  silenceTimeoutMs: 100_000,
  slowAfterMs: 20_000,
};

/** Where the operator runs. */
export interface OperatorCluster {
  readonly cluster: Pick<KubernetesCluster, "folder" | "kubeconfigPath">;
  readonly certificates: CertificateFiles;
  /** EndpointSlices at addresses of this machine. */
  readonly slices: ObjectCache;
  /** Counts writes of statuses, by name of the object. */
  readonly writes: Map<string, number>;
}

/** The parts of the operator that write statuses, with a count of their writes. */
export class RunningOperator {
  readonly #parts: readonly Part[];

  constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  static async start(given: OperatorCluster): Promise<RunningOperator> {
    const { folder, kubeconfigPath } = given.cluster;
    const { certificates, slices, writes } = given;
    const log = createLog({ level: "warn", format: "text", write: (line) => writeLog(folder, line) });
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [kubeconfigPath] }, Date.now);
    const client = new ApiClient(access, TIMES, { userAgent: "weir-operator" });
    const deps = { log, clock: Date.now, random: Math.random };
    const objects = new ObjectClient(client);
    const events = new EventRecorder({ ...deps, objects, instance: "test" });
    const caches = new ClusterCaches({ ...deps, client }, TIMES);
    const counting: Pick<ObjectClient, "apply"> = {
      apply: (kind, object, options, signal) => {
        const { name } = object.metadata;
        writes.set(name, (writes.get(name) ?? 0) + 1);
        return objects.apply(kind, object, options, signal);
      },
    };
    const status = createStatusParts({
      ...deps,
      monotonicMs: () => performance.now(),
      metrics: new ControllerMetricsSet(new Registry()),
      objects: counting,
      events,
      // Endpoints at addresses of this machine, which the API server accepts in no slice.
      caches: { follow: (kind, options) => (kind === ENDPOINT_SLICES ? slices : caches.follow(kind, options)) },
      settings: {
        namespace: "weir-system",
        namespaces: undefined,
        reconcile: { concurrency: 8, resyncMs: 600_000 },
        controlPlane: {
          service: "control-plane",
          portName: "ads",
          tls: { caPath: certificates.ca, certPath: certificates.clientCert, keyPath: certificates.clientKey },
        },
      },
    });
    const parts: readonly Part[] = [{ name: "client", stop: () => client.close() }, caches, events, ...status.leading];
    for (const part of parts) await part.start?.();
    return new RunningOperator(parts);
  }

  async stop(): Promise<void> {
    for (const part of this.#parts.toReversed()) await part.stop?.();
  }
}

function writeLog(folder: string, line: string): void {
  writeFileSync(join(folder, "operator.log"), line, { flag: "a" });
}
