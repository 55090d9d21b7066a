// The Deployment of a workload: pods under restricted pod security that follow their files, drain before
// they end, and are replaced one by one.
import { createHash } from "node:crypto";

import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { environmentOf, STOP_SECONDS } from "./environment.ts";
import { mountsOf, volumeMountsOf, volumesOf } from "./mounts.ts";
import { CONTAINER, labelsOf, ownedObject, podBounds, PORTS, selectorOf, type Workload } from "./workload.ts";

/** Annotation of the pods with a checksum of what this file renders. */
const CHECKSUM_ANNOTATION = "ratelimit.weir.dev/checksum";

/** A user without rights, as images without a root user have it. */
const USER = 65_532;

/**
 * The resources of a pod whose RateLimitService does not set them: requests of which an autoscaler counts shares,
 * and memory above the 142 MiB of a pod after a million descriptors (docs/benchmarks.md). CPU has no limit: a pod
 * that is throttled answers late.
 */
const RESOURCES = { requests: { cpu: "250m", memory: "256Mi" }, limits: { memory: "256Mi" } };

/** Share of the pods that an update may add, and how many may be missing meanwhile. */
const STRATEGY = { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } };

/**
 * How long a rollout may make no progress until it has failed, in seconds: a pod that starts takes a few, and
 * the default of Kubernetes is ten minutes. A rollout that has failed continues nevertheless.
 */
const PROGRESS_DEADLINE_SECONDS = 60;

/**
 * The pods are spread over nodes and zones as well as possible. Those of another revision do not count,
 * so that a rolling update ends well spread too.
 */
const SPREAD = ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map((topologyKey) => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: "ScheduleAnyway",
  matchLabelKeys: ["pod-template-hash"],
}));

/**
 * Probes. The debug port answers as soon as the process runs, so that a pod that waits for its first
 * rules, or for the store, is not restarted; it is not ready before.
 */
const PROBES = {
  startupProbe: { httpGet: { path: "/", port: "debug" }, periodSeconds: 1, failureThreshold: 60 },
  livenessProbe: { httpGet: { path: "/", port: "debug" }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
  readinessProbe: { httpGet: { path: "/healthcheck", port: "http" }, periodSeconds: 5, failureThreshold: 2 },
};

/** The Deployment. Its replicas are left to the autoscaler where there is one. */
export function renderDeployment(workload: Workload): WrittenObject {
  const { spec } = workload;
  return ownedObject(workload, "deployment", {
    spec: {
      ...(spec.autoscaling === undefined && { replicas: podBounds(spec).min }),
      selector: { matchLabels: selectorOf(workload) },
      strategy: STRATEGY,
      progressDeadlineSeconds: PROGRESS_DEADLINE_SECONDS,
      template: renderTemplate(workload),
    },
  });
}

function renderTemplate(workload: Workload): object {
  const { podLabels, podAnnotations } = workload.spec;
  const spec = renderPod(workload);
  const checksum = createHash("sha256").update(JSON.stringify(spec)).digest("hex").slice(0, 16);
  return {
    metadata: {
      labels: { ...podLabels, ...labelsOf(workload) },
      annotations: { ...podAnnotations, [CHECKSUM_ANNOTATION]: checksum },
    },
    spec,
  };
}

function renderPod(workload: Workload): object {
  const { name, spec, options } = workload;
  const { preStop, drain, grace, margin } = STOP_SECONDS;
  const mounts = mountsOf(workload);
  return {
    serviceAccountName: name,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: preStop + drain + 2 * grace + margin,
    securityContext: {
      ...(spec.podSecurityContext ?? { runAsUser: USER, runAsGroup: USER, fsGroup: USER }),
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    },
    imagePullSecrets: spec.imagePullSecrets ?? options.imagePullSecrets.map((secret) => ({ name: secret })),
    nodeSelector: spec.nodeSelector,
    tolerations: spec.tolerations,
    affinity: spec.affinity,
    topologySpreadConstraints: renderSpread(workload),
    priorityClassName: spec.priorityClassName,
    containers: [renderContainer(workload, mounts)],
    volumes: volumesOf(mounts),
  };
}

function renderContainer(workload: Workload, mounts: Parameters<typeof volumeMountsOf>[0]): object {
  const { spec, options } = workload;
  return {
    name: CONTAINER,
    image: spec.image ?? options.image,
    imagePullPolicy: spec.imagePullPolicy,
    command: ["weir-ratelimit"],
    env: environmentOf(workload),
    ports: Object.entries(PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: "TCP" })),
    resources: spec.resources ?? RESOURCES,
    volumeMounts: volumeMountsOf(mounts),
    ...PROBES,
    // The last lines of the log of a container that fails are in the status of its pod.
    terminationMessagePolicy: "FallbackToLogsOnError",
    lifecycle: { preStop: { sleep: { seconds: STOP_SECONDS.preStop } } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
  };
}

function renderSpread(workload: Workload): readonly object[] {
  const own = { labelSelector: { matchLabels: selectorOf(workload) } };
  return (workload.spec.topologySpreadConstraints ?? SPREAD).map((constraint) => ({ ...own, ...constraint }));
}
