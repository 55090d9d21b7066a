// Values that the chart weir refuses, each with the name of what is wrong.
import { expect, it } from "vitest";
import { renderChart } from "@weir/harness/helm/render";

it.each([
  { what: "an unknown key", values: { replicas: 2 }, message: "additional properties 'replicas' not allowed" },
  {
    what: "a typing error below a group",
    values: { operator: { replica: 3 } },
    message: "at '/operator': additional properties 'replica' not allowed",
  },
  {
    what: "a typing error two levels down",
    values: { monitoring: { podMonitor: { enable: true } } },
    message: "at '/monitoring/podMonitor': additional properties 'enable' not allowed",
  },
  {
    what: "a typing error in the spec of the data plane",
    values: { rateLimitService: { spec: { bakend: { type: "memory" } } } },
    message: "at '/rateLimitService/spec': additional properties 'bakend' not allowed",
  },
  {
    what: "a text for a number in the spec of the data plane",
    values: { rateLimitService: { spec: { replicas: "3" } } },
    message: "at '/rateLimitService/spec/replicas': got string, want integer",
  },
  { what: "an image without a name", values: { operator: { image: { repository: "" } } }, message: "image/repository" },
  {
    what: "a budget that admits no eviction, by accident",
    values: { podDisruptionBudget: { maxUnavailable: "" } },
    message: "at '/podDisruptionBudget/maxUnavailable'",
  },
  { what: "a text for a number", values: { operator: { replicas: "two" } }, message: "at '/operator/replicas'" },
  { what: "a negative number", values: { controlPlane: { replicas: -1 } }, message: "at '/controlPlane/replicas'" },
  { what: "an unknown choice", values: { certificates: { source: "vault" } }, message: "at '/certificates/source'" },
  { what: "an unknown level", values: { log: { level: "verbose" } }, message: "at '/log/level'" },
  { what: "a digest that is none", values: { operator: { image: { digest: "latest" } } }, message: "/image/digest'" },
  {
    what: "a setting that is no text",
    values: { operator: { settings: { RECONCILE_CONCURRENCY: 4 } } },
    message: "at '/operator/settings/RECONCILE_CONCURRENCY'",
  },
  {
    what: "a typing error in the name of a setting",
    values: { operator: { settings: { RECONCILE_CONCURENCY: "4" } } },
    message: "at '/operator/settings': additional properties 'RECONCILE_CONCURENCY' not allowed",
  },
  {
    what: "a setting of another program",
    values: { controlPlane: { settings: { RECONCILE_CONCURRENCY: "4" } } },
    message: "at '/controlPlane/settings': additional properties 'RECONCILE_CONCURRENCY' not allowed",
  },
  {
    what: "a setting that the chart's ports depend on",
    values: { controlPlane: { settings: { HTTP_PORT: "9000" } } },
    message: "Cannot set controlPlane.settings.HTTP_PORT: probes, Services and policies of the chart depend on it",
  },
  {
    what: "a setting that has a value",
    values: { controlPlane: { settings: { HTTP_REPORTS: "true" } } },
    message: "Cannot set controlPlane.settings.HTTP_REPORTS: controlPlane.httpReports decides it",
  },
  {
    what: "the cluster's domain for one program alone",
    values: { operator: { settings: { CLUSTER_DOMAIN: "corp.example" } } },
    message: "Cannot set operator.settings.CLUSTER_DOMAIN: kubernetesClusterDomain decides it",
  },
  {
    what: "an alert that does not exist",
    values: { monitoring: { alerts: { enabled: true, rules: { WeirPodsBehinde: { enabled: false } } } } },
    message:
      "Cannot change monitoring.alerts.rules.WeirPodsBehinde: there is no such alert. There are: WeirCertificateExpiring, ",
  },
  {
    what: "a waiting time of an alert without a unit",
    values: { monitoring: { alerts: { enabled: true, rules: { WeirPodsBehind: { for: "15" } } } } },
    message: "at '/monitoring/alerts/rules/WeirPodsBehind/for'",
  },
  {
    what: "a label that selects pods",
    values: { commonLabels: { "app.kubernetes.io/instance": "mine" } },
    message: "invalid propertyName 'app.kubernetes.io/instance'",
  },
  {
    what: "a service without a name",
    values: { rateLimitService: { name: "" } },
    message: "at '/rateLimitService/name'",
  },
  {
    what: "a name that no Service can have",
    values: { rateLimitService: { name: "2024" } },
    message: "at '/rateLimitService/name'",
  },
  { what: "a number for a tag", values: { image: { tag: 1 } }, message: "at '/image/tag': got number, want string" },
  {
    what: "a namespace that is watched twice",
    values: { watchNamespaces: ["weir-system", "weir-system"] },
    message: "at '/watchNamespaces'",
  },
  {
    what: "namespaces by name and by label",
    values: { watchNamespaces: ["weir-system"], watchNamespaceSelector: "a=b" },
    message: "set watchNamespaces or watchNamespaceSelector",
  },
  {
    what: "a RateLimitService in a namespace that is not watched",
    values: { watchNamespaces: ["shop"] },
    message: `its namespace "weir-system" is not among watchNamespaces`,
  },
  {
    what: "cert-manager without an issuer",
    values: { certificates: { source: "cert-manager" } },
    message: "certificates.issuerRef.name must be set when certificates.source is cert-manager",
  },
  {
    what: "a webhook that the API server cannot trust",
    values: { certificates: { source: "external" }, rateLimitService: { create: false } },
    message: "certificates.webhookCaBundle must be set",
  },
  {
    what: "a bundle next to the operator's",
    values: { certificates: { webhookCaBundle: "YQ==" } },
    message: "certificates.source is not external",
  },
  {
    what: "a data plane without a certificate",
    values: { certificates: { source: "external" }, webhook: { enabled: false } },
    message: "rateLimitService.spec.controlPlane.certificateSecret must name the Secret",
  },
  {
    what: "rights for the account of every pod",
    values: { controlPlane: { serviceAccount: { create: false } } },
    message: "controlPlane.serviceAccount.name must be set when controlPlane.serviceAccount.create is false",
  },
  {
    what: "namespaces of the webhook by name and by label",
    values: { watchNamespaces: ["weir-system"], webhook: { namespaceSelector: { matchLabels: { a: "b" } } } },
    message: "set watchNamespaces or webhook.namespaceSelector",
  },
  {
    what: "a port that no listener can have",
    values: { webhook: { port: 70000 } },
    message: "at '/webhook/port'",
  },
  {
    what: "pods that each count by themselves",
    values: { rateLimitService: { spec: { replicas: 2 } } },
    message: "Cannot run 2 pods with rateLimitService.spec.backend.type memory",
  },
  {
    what: "an autoscaler of pods that each count by themselves",
    values: { rateLimitService: { spec: { autoscaling: { maxReplicas: 3 } } } },
    message: "set rateLimitService.spec.backend.memory.allowUnsharedCounters to true",
  },
  {
    what: "an autoscaler without a request of the processor",
    values: {
      rateLimitService: {
        spec: {
          backend: { type: "redis", redis: { type: "single", single: { address: "redis:6379" } } },
          autoscaling: { maxReplicas: 3 },
          resources: { requests: { memory: "128Mi" } },
        },
      },
    },
    message: "rateLimitService.spec.resources.requests.cpu must be set",
  },
  {
    what: "to order a certificate for a fleet that has another name",
    values: {
      certificates: { source: "cert-manager", issuerRef: { name: "weir" } },
      rateLimitService: { name: "n".repeat(52) },
    },
    message: "Set rateLimitService.spec.fleet",
  },
])("the chart weir refuses $what", async ({ values, message }) => {
  await expect(renderChart({ chart: "weir", values })).rejects.toThrow(message);
});
