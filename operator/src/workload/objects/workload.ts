// The source from which the objects of one RateLimitService are rendered, and what they have in common:
// names, labels, owner.
import { fleetOf } from "@weir/crds/rate-limit-service/fleet";
import {
  type RateLimitServiceResource,
  type RateLimitServiceSpec,
  SERVICE_KIND,
} from "@weir/crds/rate-limit-service/schema/schema";
import type { WrittenObject } from "@weir/kubernetes/client/object-client";

import { MANAGED_LABEL, MANAGER } from "../../leader/managed-by.ts";
import type { DataPlaneMonitoring } from "../monitoring-settings.ts";
import { apiVersionOf, OWNED_KINDS, ownedName, type OwnedKindName, RATE_LIMIT_SERVICES } from "./owned-kinds.ts";

/** Label with the name of the resource that an object or pod belongs to. */
export const INSTANCE_LABEL = "app.kubernetes.io/instance";

/** Name of the container of the pods. */
export const CONTAINER = "ratelimit";

/** Name of the ports of a pod, with their numbers. */
export const PORTS = { grpc: 8081, http: 8080, debug: 6070, metrics: 9090 } as const;

/** The options of the operator for all data planes. */
export interface WorkloadOptions {
  /** Image of the pods of a resource that names none. */
  readonly image: string;
  /** Secrets with which that image is pulled, in the namespace of each resource. */
  readonly imagePullSecrets: readonly string[];
  readonly monitoring: DataPlaneMonitoring;
  /** Level and format of the logs of the pods, unless `env` of their resource sets them. */
  readonly log: { readonly level: string; readonly format: string };
  readonly controlPlane: {
    /** `host:port` of the operator's own control plane, as pods reach it. */
    readonly address: string;
    /** True when it serves without TLS. */
    readonly isPlaintext: boolean;
  };
}

/** One RateLimitService, ready to be rendered. */
export interface Workload {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly fleet: string;
  readonly spec: RateLimitServiceSpec;
  readonly options: WorkloadOptions;
}

/** The workload of a resource that the API server has stored. */
export function workloadOf(
  { metadata, spec }: Pick<RateLimitServiceResource, "metadata" | "spec">,
  uid: string,
  options: WorkloadOptions,
): Workload {
  const { name, namespace = "default" } = metadata;
  return { name, namespace, uid, fleet: fleetOf({ metadata, spec }), spec, options };
}

/** The labels by which the pods of a workload are selected. They never change. */
export function selectorOf({ name }: Pick<Workload, "name">): Readonly<Record<string, string>> {
  return { "app.kubernetes.io/name": "weir-ratelimit", [INSTANCE_LABEL]: name };
}

/** The labels of each object of a workload. */
export function labelsOf(workload: Workload): Readonly<Record<string, string>> {
  return { ...selectorOf(workload), [MANAGED_LABEL]: MANAGER, "ratelimit.weir.dev/fleet": workload.fleet };
}

/** An object of a workload, owned by its resource; `labels` and `annotations` are further ones. */
export function ownedObject(
  workload: Workload,
  kindName: OwnedKindName,
  content: Readonly<Record<string, unknown>>,
  {
    labels,
    annotations,
  }: Partial<Readonly<Record<"labels" | "annotations", Readonly<Record<string, string>> | undefined>>> = {},
): WrittenObject {
  const { name, namespace, uid } = workload;
  const owner = { apiVersion: apiVersionOf(RATE_LIMIT_SERVICES), kind: SERVICE_KIND, name, uid };
  return {
    apiVersion: apiVersionOf(OWNED_KINDS[kindName]),
    kind: OWNED_KINDS[kindName].kind,
    metadata: {
      name: ownedName(kindName, name),
      namespace,
      labels: { ...labels, ...labelsOf(workload) },
      ...(annotations !== undefined && { annotations }),
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    ...content,
  };
}

/** The least and the most pods. */
export function podBounds({ backend, replicas, autoscaling }: RateLimitServiceSpec): { min: number; max: number } {
  const usual = backend.type === "memory" ? 1 : 2;
  if (autoscaling === undefined) return { min: replicas ?? usual, max: replicas ?? usual };
  const { minReplicas = Math.min(usual, autoscaling.maxReplicas), maxReplicas } = autoscaling;
  return { min: minReplicas, max: maxReplicas };
}
