// The CustomResourceDefinition of PodMonitors for tests: group, names and the fields that the operator
// sets, with the types and patterns of prometheus-operator. A field that it lacks is refused.

/** A duration of Prometheus, as in the definition of prometheus-operator. */
const DURATION = "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$";

const TEXT = { type: "string" } as const;

const SPEC = {
  type: "object",
  required: ["selector"],
  properties: {
    selector: {
      type: "object",
      "x-kubernetes-map-type": "atomic",
      properties: { matchLabels: { type: "object", additionalProperties: TEXT } },
    },
    podMetricsEndpoints: {
      type: "array",
      items: { type: "object", properties: { port: TEXT, path: TEXT, interval: { ...TEXT, pattern: DURATION } } },
    },
  },
} as const;

/** The manifest, as JSON. */
export const POD_MONITOR_DEFINITION = JSON.stringify({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "podmonitors.monitoring.coreos.com" },
  spec: {
    group: "monitoring.coreos.com",
    scope: "Namespaced",
    names: {
      kind: "PodMonitor",
      listKind: "PodMonitorList",
      plural: "podmonitors",
      singular: "podmonitor",
      shortNames: ["pmon"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec: SPEC } } },
      },
    ],
  },
});
