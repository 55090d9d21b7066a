// The actions of the operator in a cluster, and those that it must not do, as requests to try its roles
// with. Only tests import it.
const WEIR = "ratelimit.weir.dev/v1alpha1";

/** An object of the API. */
export function object(apiVersion: string, kind: string, namespace: string, name: string, rest: object = {}): object {
  return { apiVersion, kind, metadata: { name, ...(namespace !== "" && { namespace }) }, ...rest };
}

/** A request of the table: by a verb of roles, or `apply` for server-side apply. */
export interface Act {
  readonly verb: string;
  readonly path: string;
  readonly content?: object;
}

/** A RateLimitConfig. */
export const CONFIG = (namespace: string, name = "shop", domain = name): object =>
  object(WEIR, "RateLimitConfig", namespace, name, { spec: { domain, descriptors: [{ key: "k" }] } });
/** A RateLimitConfigRevision. */
export const REVISION = object(WEIR, "RateLimitConfigRevision", "web", "shop", {
  spec: { domain: "shop", descriptors: [{ key: "k" }] },
});
/** A RateLimitService. */
export const SERVICE = (namespace: string, name = "edge"): object =>
  object(WEIR, "RateLimitService", namespace, name, { spec: { backend: { type: "memory" } } });

const PODS = { selector: { matchLabels: { a: "b" } } };
const TEMPLATE = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
const SCALED = { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "edge" } };
/** The objects that a RateLimitService consists of, each after the path of its collection. */
const OWNED: readonly (readonly [string, object])[] = [
  owned("v1", "Service", { ports: [{ port: 1 }] }),
  owned("v1", "ServiceAccount"),
  owned("apps/v1", "Deployment", { ...PODS, template: TEMPLATE }),
  owned("autoscaling/v2", "HorizontalPodAutoscaler", SCALED),
  owned("networking.k8s.io/v1", "NetworkPolicy", { podSelector: {} }),
  owned("policy/v1", "PodDisruptionBudget", { ...PODS, maxUnavailable: 1 }),
  owned("monitoring.coreos.com/v1", "PodMonitor", PODS),
];

function owned(apiVersion: string, kind: string, spec?: object): readonly [string, object] {
  const plural = `${kind.toLowerCase()}s`.replace("ys", "ies");
  const path = `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}/namespaces/web/${plural}`;
  return [path, object(apiVersion, kind, "web", "edge", spec && { spec })];
}

/** Paths of the kinds. */
export const CONFIGS = `/apis/${WEIR}/namespaces/web/ratelimitconfigs`;
export const SERVICES = `/apis/${WEIR}/namespaces/web/ratelimitservices`;
export const REVISIONS = `/apis/${WEIR}/namespaces/web/ratelimitconfigrevisions`;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/weir-system/leases";
const SECRETS = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;
const EVENTS = (namespace: string): string => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
const SLICES = "/apis/discovery.k8s.io/v1/namespaces/weir-system/endpointslices";
const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/** Writing a version that is gone is a conflict, which comes after the rights. */
export function lease(name: string, resourceVersion?: string): object {
  const metadata = { name, namespace: "weir-system", ...(resourceVersion !== undefined && { resourceVersion }) };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { holderIdentity: "test" } };
}

function event(namespace: string): object {
  const regarding = { apiVersion: WEIR, kind: "RateLimitConfig", namespace, name: "shop" };
  return object("events.k8s.io/v1", "Event", namespace, "shop.1", {
    ...{ eventTime: "2026-01-31T12:00:00.000000Z", reportingController: "weir.dev/o", reportingInstance: "i" },
    ...{ regarding, type: "Normal", reason: "Accepted", action: "Check", note: "note" },
  });
}

function secret(namespace: string, name: string): Act {
  return { verb: "apply", path: `${SECRETS(namespace)}/${name}`, content: object("v1", "Secret", namespace, name) };
}

/** The requests of the operator in the namespaces that it watches. */
export const IN_NAMESPACES: readonly Act[] = [
  ...[CONFIGS, SERVICES, REVISIONS, "/api/v1/namespaces/web/pods"].flatMap((path) => [
    { verb: "list", path },
    { verb: "watch", path },
  ]),
  {
    verb: "apply",
    path: `${CONFIGS}/shop/status`,
    content: object(WEIR, "RateLimitConfig", "web", "shop", { status: { domain: "shop" } }),
  },
  {
    verb: "apply",
    path: `${SERVICES}/edge/status`,
    content: object(WEIR, "RateLimitService", "web", "edge", { status: { fleet: "web.edge" } }),
  },
  { verb: "get", path: `${SERVICES}/edge` },
  {
    verb: "apply",
    path: `${SERVICES}/edge`,
    content: object(WEIR, "RateLimitService", "web", "edge", {
      metadata: { name: "edge", namespace: "web", finalizers: ["orphan"] },
    }),
  },
  { verb: "apply", path: `${REVISIONS}/shop`, content: REVISION },
  { verb: "delete", path: `${REVISIONS}/shop` },
  { verb: "apply", path: `${EVENTS("web")}/shop.1`, content: event("web") },
  { verb: "create", path: EVENTS("web"), content: event("web") },
  ...OWNED.flatMap(([path, content]) => [
    { verb: "list", path },
    { verb: "watch", path },
    { verb: "get", path: `${path}/edge` },
    { verb: "apply", path: `${path}/edge`, content },
    { verb: "delete", path: `${path}/edge` },
  ]),
  secret("web", "weir-ratelimit-tls"),
  { verb: "get", path: `${SECRETS("web")}/weir-ratelimit-tls` },
];

/** The requests of the operator in its own namespace, and those about its webhook. */
export const OWN: readonly Act[] = [
  { verb: "create", path: LEASES, content: lease("weir-operator") },
  { verb: "get", path: `${LEASES}/weir-operator` },
  { verb: "update", path: `${LEASES}/weir-operator`, content: lease("weir-operator", "1") },
  ...["weir-ca", "weir-control-plane-tls", "weir-operator-tls"].flatMap((name) => [
    secret("weir-system", name),
    { verb: "get", path: `${SECRETS("weir-system")}/${name}` },
  ]),
  { verb: "list", path: SLICES },
  { verb: "watch", path: SLICES },
  { verb: "apply", path: `${EVENTS("weir-system")}/shop.1`, content: event("weir-system") },
];

export const WEBHOOK: readonly Act[] = [
  { verb: "get", path: `${WEBHOOKS}/weir` },
  {
    verb: "apply",
    path: `${WEBHOOKS}/weir`,
    content: object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "weir", {
      metadata: { name: "weir", labels: { seen: "yes" } },
    }),
  },
];

/** The requests that it must not make, whatever the roles. */
export const FORBIDDEN: readonly Act[] = [
  { verb: "apply", path: `${CONFIGS}/shop`, content: CONFIG("web") },
  { verb: "create", path: CONFIGS, content: CONFIG("web", "other") },
  { verb: "delete", path: `${CONFIGS}/shop` },
  { verb: "create", path: SERVICES, content: SERVICE("web", "other") },
  { verb: "delete", path: `${SERVICES}/edge` },
  { verb: "list", path: SECRETS("web") },
  { verb: "list", path: SECRETS("weir-system") },
  { verb: "watch", path: SECRETS("weir-system") },
  { verb: "get", path: `${SECRETS("web")}/password` },
  secret("web", "password"),
  secret("web", "weir-ca"),
  { verb: "delete", path: `${SECRETS("web")}/weir-ratelimit-tls` },
  { verb: "get", path: `${SECRETS("weir-system")}/password` },
  secret("weir-system", "password"),
  { verb: "create", path: SECRETS("weir-system"), content: object("v1", "Secret", "weir-system", "weir-ca") },
  { verb: "get", path: `${LEASES}/other` },
  { verb: "update", path: `${LEASES}/other`, content: lease("other", "1") },
  { verb: "delete", path: `${LEASES}/weir-operator` },
  { verb: "delete", path: "/api/v1/namespaces/web" },
  { verb: "list", path: "/api/v1/namespaces" },
  { verb: "create", path: "/api/v1/namespaces/web/pods", content: object("v1", "Pod", "web", "p", TEMPLATE) },
  { verb: "list", path: "/api/v1/namespaces/web/configmaps" },
  { verb: "get", path: `${WEBHOOKS}/other` },
  { verb: "delete", path: `${WEBHOOKS}/weir` },
  { verb: "list", path: "/apis/rbac.authorization.k8s.io/v1/clusterroles" },
];
