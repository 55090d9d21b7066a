// Small definitions of the kinds of other projects that the charts and the operator make: the fields that they set, so that
// the API server refuses others.
import { stringify } from "yaml";

/** A duration of Prometheus, as in the definition of prometheus-operator. */
const DURATION = "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$";

type Schema = Readonly<Record<string, unknown>>;

const TEXT = { type: "string" };
const TEXTS = { type: "array", items: TEXT };
const OPEN = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const LABEL_SELECTOR = object({ matchLabels: { type: "object", additionalProperties: TEXT } });

/** The definition of PodMonitors as a manifest. */
export const POD_MONITOR_DEFINITION = definition("monitoring.coreos.com", "v1", "PodMonitor", "podmonitors", {
  selector: LABEL_SELECTOR,
  podMetricsEndpoints: {
    type: "array",
    items: object({ port: TEXT, path: TEXT, interval: { ...TEXT, pattern: DURATION } }),
  },
});

/** All definitions as manifests. */
export const FOREIGN_DEFINITIONS = [
  POD_MONITOR_DEFINITION,
  definition("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors", {
    selector: LABEL_SELECTOR,
    endpoints: { type: "array", items: OPEN },
    namespaceSelector: OPEN,
  }),
  definition("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", {
    groups: {
      type: "array",
      items: {
        ...OPEN,
        required: ["name", "rules"],
        properties: { name: TEXT, rules: { type: "array", items: OPEN } },
      },
    },
  }),
  definition("cert-manager.io", "v1", "Certificate", "certificates", {
    secretName: TEXT,
    issuerRef: object({ kind: TEXT, name: TEXT, group: TEXT }),
    usages: TEXTS,
    dnsNames: TEXTS,
    uris: TEXTS,
    privateKey: object({ algorithm: TEXT, rotationPolicy: TEXT }),
  }),
  definition("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes", {
    parentRefs: { type: "array", items: OPEN },
    hostnames: TEXTS,
    rules: { type: "array", items: OPEN },
  }),
].join("---\n");

function object(properties: Schema): Schema {
  return { type: "object", properties };
}

function definition(group: string, version: string, kind: string, plural: string, spec: Schema): string {
  const names = { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` };
  const schema = {
    openAPIV3Schema: {
      ...object({ apiVersion: TEXT, kind: TEXT, metadata: { type: "object" }, spec: object(spec) }),
      required: ["spec"],
    },
  };
  return stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    // The group gateway.networking.k8s.io is of Kubernetes, which asks for the approval.
    metadata: { name: `${plural}.${group}`, annotations: { "api-approved.kubernetes.io": "unapproved, for tests" } },
    spec: { group, names, scope: "Namespaced", versions: [{ name: version, served: true, storage: true, schema }] },
  });
}
