// The kinds of objects that a RateLimitService consists of.
import type { ApiKind } from "@weir/kubernetes/client/api-resource";

/** A kind as the API has it, and as manifests name it. */
export interface OwnedKind extends ApiKind {
  readonly kind: string;
  /** The text that the name of the object adds to that of the resource. */
  readonly suffix?: string;
  /** Not part of Kubernetes itself: a cluster may not know it. */
  readonly isOptional?: true;
}

/** The kinds, in the order in which objects are written: what pods need comes before the pods. */
export const OWNED_KINDS = {
  serviceAccount: { group: "", version: "v1", plural: "serviceaccounts", kind: "ServiceAccount" },
  service: { group: "", version: "v1", plural: "services", kind: "Service" },
  headlessService: { group: "", version: "v1", plural: "services", kind: "Service", suffix: "-headless" },
  networkPolicy: { group: "networking.k8s.io", version: "v1", plural: "networkpolicies", kind: "NetworkPolicy" },
  disruptionBudget: { group: "policy", version: "v1", plural: "poddisruptionbudgets", kind: "PodDisruptionBudget" },
  deployment: { group: "apps", version: "v1", plural: "deployments", kind: "Deployment" },
  autoscaler: {
    group: "autoscaling",
    version: "v2",
    plural: "horizontalpodautoscalers",
    kind: "HorizontalPodAutoscaler",
  },
  podMonitor: {
    group: "monitoring.coreos.com",
    version: "v1",
    plural: "podmonitors",
    kind: "PodMonitor",
    isOptional: true,
  },
} as const satisfies Readonly<Record<string, OwnedKind>>;

/** A kind by the name that this program gives it. */
export type OwnedKindName = keyof typeof OWNED_KINDS;

/** The names, in the order of {@link OWNED_KINDS}. */
export const OWNED_KIND_NAMES = Object.keys(OWNED_KINDS) as readonly OwnedKindName[];

/** The name of a resource's object of a kind. */
export function ownedName(kind: OwnedKindName, name: string): string {
  const { suffix = "" }: OwnedKind = OWNED_KINDS[kind];
  return name + suffix;
}

/** Pods of the data planes. */
export const PODS: ApiKind = { group: "", version: "v1", plural: "pods" };

/** The kind that all this is made from. */
export const RATE_LIMIT_SERVICES: ApiKind = {
  group: "ratelimit.weir.dev",
  version: "v1alpha1",
  plural: "ratelimitservices",
};

/** `apiVersion` of a kind. */
export function apiVersionOf({ group, version }: ApiKind): string {
  return group === "" ? version : `${group}/${version}`;
}
