// The NetworkPolicies of the charts admit every connection that the system needs, and no other.
import { fieldsOf, type Mapping } from "@weir/kubernetes/mapping";
import { describe, expect, it } from "vitest";
import { isAdmitted, type PolicyClient, type PolicyPod, policyPodOf } from "@weir/harness/helm/network-policies";
import { nameOf, type RenderedChart, renderChart } from "@weir/harness/helm/render";

const SYSTEM = "weir-system";

/** Peers as an operator of a cluster names them. */
const inNamespace = (name: string) => ({ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } } });

const PROMETHEUS: PolicyPod = { namespace: "monitoring", labels: { app: "prometheus" } };
const STRANGER: PolicyPod = { namespace: "other", labels: { "app.kubernetes.io/name": "weir-ratelimit" } };

/** A data plane of a team, as the operator labels its pods. */
const TENANT: PolicyPod = {
  namespace: "shop",
  namespaceLabels: { "weir.dev/limits": "enabled" },
  labels: { "app.kubernetes.io/name": "weir-ratelimit", "app.kubernetes.io/instance": "core" },
};
const OWN_DATA_PLANE: PolicyPod = { ...TENANT, namespace: SYSTEM, namespaceLabels: {} };
const API_SERVER: PolicyClient = { address: "10.0.0.5" };

/** The pods of a rendering: those of Deployments, and those of helm test. */
function podOf(chart: RenderedChart, kind: "Deployment" | "Pod", name: string): PolicyPod {
  const object = chart.only(kind, name);
  if (kind === "Pod") return policyPodOf(object);
  return policyPodOf(fieldsOf(fieldsOf(object["spec"])["template"]), fieldsOf(object["metadata"])["namespace"]);
}

/** The names of the clients that are admitted to each port of the pod, by the name of the port. */
function admissions(
  policies: readonly Mapping[],
  pod: PolicyPod,
  clients: Readonly<Record<string, PolicyClient>>,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(pod.ports ?? {}).map(([name, port]) => [
      name,
      Object.keys(clients).filter((client) => isAdmitted(policies, clients[client]!, pod, port)),
    ]),
  );
}

describe("the NetworkPolicies of the chart weir", () => {
  const clientsOf = (chart: RenderedChart) => ({
    operator: podOf(chart, "Deployment", "weir-operator"),
    "test of the stream": podOf(chart, "Pod", "weir-test-stream"),
    "own data plane": OWN_DATA_PLANE,
    "data plane of a tenant": TENANT,
    Prometheus: PROMETHEUS,
    "API server": API_SERVER,
    stranger: STRANGER,
  });

  it("admit those that the values name, and what the system itself needs", async () => {
    const networkPolicy = {
      enabled: true,
      metricsFrom: [inNamespace("monitoring")],
      webhookFrom: [{ ipBlock: { cidr: "10.0.0.0/28" } }],
      podsFrom: [{ namespaceSelector: { matchLabels: { "weir.dev/limits": "enabled" } } }],
    };
    const chart = await renderChart({ chart: "weir", values: { networkPolicy } });
    const policies = chart.ofKind("NetworkPolicy");
    const controlPlane = podOf(chart, "Deployment", "weir-control-plane");
    expect(admissions(policies, controlPlane, clientsOf(chart))).toEqual({
      ads: ["operator", "test of the stream", "own data plane", "data plane of a tenant"],
      http: ["Prometheus"],
    });
    expect(admissions(policies, podOf(chart, "Deployment", "weir-operator"), clientsOf(chart))).toEqual({
      http: ["Prometheus"],
      webhook: ["API server"],
    });
    const elsewhere = { address: "192.168.0.9" };
    expect(isAdmitted(policies, elsewhere, podOf(chart, "Deployment", "weir-operator"), 9443)).toBe(false);
  });

  it("admit everyone to the ports of the programs when the values name no peers", async () => {
    const chart = await renderChart({ chart: "weir", values: { networkPolicy: { enabled: true } } });
    const clients = clientsOf(chart);
    const policies = chart.ofKind("NetworkPolicy");
    const controlPlane = podOf(chart, "Deployment", "weir-control-plane");
    const everyone = Object.keys(clients);
    expect(admissions(policies, controlPlane, clients)).toEqual({ ads: everyone, http: everyone });
    expect(isAdmitted(policies, STRANGER, controlPlane, 9229)).toBe(false); // A port that is no one's.
  });

  it("let helm test ask a data plane whose clients are named, and restrict no outgoing connection", async () => {
    const from = [inNamespace("gateway")];
    const rateLimitService = { spec: { backend: { type: "memory" }, networkPolicy: { from } } };
    const chart = await renderChart({ chart: "weir", values: { rateLimitService, networkPolicy: { enabled: true } } });
    const { networkPolicy } = fieldsOf(chart.only("RateLimitService")["spec"]);
    const policy = {
      metadata: { namespace: SYSTEM },
      spec: { podSelector: {}, ingress: [{ from: fieldsOf(networkPolicy)["from"] }] },
    };
    const asking = {
      Envoy: { namespace: "gateway", labels: {} },
      "test of a decision": podOf(chart, "Pod", "weir-test-decision"),
      stranger: STRANGER,
    };
    const grpc = { ...OWN_DATA_PLANE, ports: { grpc: 8081 } };
    expect(admissions([policy], grpc, asking)).toEqual({ grpc: ["Envoy", "test of a decision"] });
    for (const rendered of chart.ofKind("NetworkPolicy"))
      expect(fieldsOf(rendered["spec"])["policyTypes"], nameOf(rendered)).toEqual(["Ingress"]);
  });
});

describe("the NetworkPolicy of the chart weir-account", () => {
  it("admits those that the values name, and helm test", async () => {
    const networkPolicy = {
      enabled: true,
      ingressFrom: [inNamespace("gateway")],
      metricsFrom: [inNamespace("monitoring")],
    };
    const values = { publicOrigin: "https://account.example.com", networkPolicy };
    const chart = await renderChart({ chart: "weir-account", values });
    const clients = {
      proxy: { namespace: "gateway", labels: {} },
      "test of a login": podOf(chart, "Pod", "weir-account-test-login"),
      Prometheus: PROMETHEUS,
      stranger: STRANGER,
    };
    const policies = chart.ofKind("NetworkPolicy");
    expect(admissions(policies, podOf(chart, "Deployment", "weir-account"), clients)).toEqual({
      http: ["proxy", "test of a login"],
      metrics: ["Prometheus"],
    });
    expect(fieldsOf(chart.only("NetworkPolicy")["spec"])["policyTypes"]).toEqual(["Ingress"]);
  });
});
