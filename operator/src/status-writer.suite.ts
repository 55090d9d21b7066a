// The parts of the operator that write statuses, in a test. Only tests import it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import { createLog } from "@weir/common/log/log";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import type { ReplicaCertificates } from "@weir/harness/weir/replica";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { ObjectClient } from "@weir/kubernetes/client/object-client";
import { Registry } from "prom-client";

import { EventRecorder } from "./events/event-recorder.ts";
import { ClusterCaches } from "./reconcile/cluster-caches.ts";
import { ControllerMetricsSet } from "./reconcile/controller-metrics.ts";
import type { ObjectCache } from "./reconcile/object-cache.ts";
import { ENDPOINT_SLICES } from "./reports/replica-endpoints.ts";
import { createStatusParts, type StatusPartDeps } from "./status-parts.ts";

const TIMES = {
  backoffInitialMs: 100,
  backoffMaxMs: 1000,
  slowMs: 1000,
  answerTimeoutMs: 20_000,
  silenceTimeoutMs: 100_000,
  slowAfterMs: 20_000,
};

interface StatusWriterDeps {
  readonly cluster: KubernetesCluster;
  readonly certificates: ReplicaCertificates;
  /** The endpoints of the control plane. */
  readonly slices: ObjectCache;
  readonly readyPods: StatusPartDeps["readyPods"];
  /** Counts the writes, by name of the object. */
  readonly writes: Map<string, number>;
}

/** Starts them; the function stops them. */
export async function startStatusWriter(deps: StatusWriterDeps): Promise<() => Promise<void>> {
  const { cluster, certificates, slices, readyPods, writes } = deps;
  const { rateLimit } = certificates;
  const logPath = join(cluster.folder, "operator.log");
  const log = createLog({
    level: "warn",
    format: "text",
    write: (line) => writeFileSync(logPath, line, { flag: "a" }),
  });
  const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
  const client = new ApiClient(access, TIMES, { userAgent: "weir-operator" });
  const common = { log, clock: Date.now, monotonicMs: () => performance.now(), random: Math.random };
  const objects = new ObjectClient(client);
  const events = new EventRecorder({ ...common, objects, instance: "test" });
  const caches = new ClusterCaches({ ...common, client }, TIMES);
  const counting: Pick<ObjectClient, "apply"> = {
    apply: (kind, object, options, signal) => {
      const { name } = object.metadata;
      writes.set(name, (writes.get(name) ?? 0) + 1);
      return objects.apply(kind, object, options, signal);
    },
  };
  const status = createStatusParts({
    ...common,
    metrics: new ControllerMetricsSet(new Registry()),
    readyPods,
    objects: counting,
    events,
    // Endpoints at addresses of this machine, which the API server accepts in no slice.
    caches: { follow: (kind, options) => (kind === ENDPOINT_SLICES ? slices : caches.follow(kind, options)) },
    settings: {
      namespace: "weir-system",
      namespaces: undefined,
      namespaceSelector: undefined,
      reconcile: { concurrency: 8, resyncMs: 600_000 },
      controlPlane: {
        service: "control-plane",
        portName: "ads",
        tls: { caPath: certificates.ca.cert, certPath: rateLimit.cert, keyPath: rateLimit.key },
      },
    },
  });
  const parts: readonly Part[] = [{ name: "client", stop: () => client.close() }, caches, events, ...status.leading];
  for (const part of parts) await part.start?.();
  return async () => {
    for (const part of parts.toReversed()) await part.stop?.();
  };
}
