// A real API server accepts every object of every rendering, as kubeconform does, and admits its pods at the level
// "restricted".
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf, type Mapping } from "@weir/kubernetes/mapping";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { FOREIGN_DEFINITIONS } from "@weir/harness/kubernetes/foreign-definitions";
import { kubeconform } from "@weir/harness/helm/helm";
import { SCHEMA_LOCATION, writeSchemas } from "./openapi-schemas.suite.ts";
import { nameOf, RenderedChart, renderYaml } from "@weir/harness/helm/render";
import { VALUES_FILES } from "./values-files.suite.ts";

/** Namespaces that the values files name; pods in them must be restricted. */
const NAMESPACES = ["weir-system", "shop", "search", "accounts", "2024"];

let cluster: KubernetesCluster;
let schemas: string;

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  const level = { "pod-security.kubernetes.io/enforce": "restricted" };
  for (const name of NAMESPACES)
    await cluster.apply(stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: level } }));
  await cluster.apply(FOREIGN_DEFINITIONS);
  await cluster.apply(await renderYaml({ chart: "weir-crds" }));
  await cluster.apply(serviceAccounts());
  schemas = join(cluster.folder, "schemas");
  await eventually("the API server to publish the custom resources", async () => {
    const { stdout } = await cluster.kubectl(["get", "--raw", "/openapi/v2"]);
    const published = fieldsOf(JSON.parse(stdout));
    const names = Object.keys(fieldsOf(published["definitions"]));
    for (const kind of ["RateLimitService", "PrometheusRule", "Certificate"])
      if (!names.some((name) => name.endsWith(`.${kind}`))) throw new Error(`${kind} is not published`);
    writeSchemas(published, schemas);
  });
});

afterAll(async () => {
  await cluster.stop();
});

describe.each(VALUES_FILES)("$chart with $name", ({ golden }) => {
  it("is accepted by the API server and by kubeconform", async () => {
    const yaml = readFileSync(golden, "utf8");
    const apply = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts", "-f", "-"];
    const { code, stderr } = await cluster.kubectl(apply, yaml);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const args = ["-strict", "-schema-location", join(schemas, SCHEMA_LOCATION), "-summary", "-output", "text"];
    const checked = await kubeconform(args, yaml);
    expect(checked.code, checked.stdout + checked.stderr).toBe(0);
    expect(checked.stdout).toContain("Skipped: 0");
  });

  it("has pods of the level restricted", async () => {
    const pods = podsOf(RenderedChart.parse(readFileSync(golden, "utf8")));
    if (pods.length === 0) return;
    const { code, stderr } = await cluster.kubectl(
      ["create", "--dry-run=server", "-n", "weir-system", "-f", "-"],
      pods.map((pod) => stringify(pod)).join("---\n"),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

it.each([
  { chart: "weir", release: "123", values: {} },
  { chart: "weir", release: "a".repeat(53), values: { watchNamespaces: ["2024"], networkPolicy: { enabled: true } } },
  { chart: "weir-account", release: "on", values: { publicOrigin: "https://a.example" } },
  { chart: "weir-account", release: "a".repeat(53), values: { publicOrigin: "https://a.example", nameOverride: "1" } },
])("accepts the release $release of $chart in the namespace 2024", async ({ chart, release, values }) => {
  const yaml = await renderYaml({ chart, release, values, namespace: "2024" });
  const apply = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"];
  expect(await cluster.kubectl(apply, yaml)).toMatchObject({ code: 0, stderr: "" });
});

it("kubeconform refuses a field that does not exist", async () => {
  const yaml = stringify({ apiVersion: "v1", kind: "Service", metadata: { name: "a" }, spec: { port: [] } });
  const args = ["-strict", "-schema-location", join(schemas, SCHEMA_LOCATION)];
  const { code, stdout } = await kubeconform(args, yaml);
  expect({ code, names: stdout.includes("port") }).toEqual({ code: 1, names: true });
});

/** Accounts of the pods for `helm test`: a pod needs its own, and a dry run creates none. */
function serviceAccounts(): string {
  const accounts = VALUES_FILES.flatMap(({ golden }) =>
    RenderedChart.parse(readFileSync(golden, "utf8"))
      .ofKind("Pod")
      .map(({ metadata, spec }) => {
        const { namespace } = fieldsOf(metadata);
        const { serviceAccountName: name = "default" } = fieldsOf(spec);
        return stringify({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
      }),
  );
  for (const namespace of ["weir-system", "2024"])
    accounts.push(stringify({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } }));
  for (const name of ["on-weir-account", `${"a".repeat(53)}-1`])
    accounts.push(stringify({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "2024" } }));
  return [...new Set(accounts)].join("---\n");
}

/** The pods of a rendering, and those that its Deployments make. Nothing that a pod needs exists, so its account goes. */
function podsOf(chart: RenderedChart): readonly Mapping[] {
  const templates = chart.ofKind("Deployment").map((deployment) => {
    const template = fieldsOf(fieldsOf(deployment["spec"])["template"]);
    return { name: nameOf(deployment), spec: template["spec"] };
  });
  const pods = chart.ofKind("Pod").map((pod) => ({ name: nameOf(pod), spec: pod["spec"] }));
  return [...templates, ...pods].map(({ name, spec }) => {
    const { serviceAccountName: _, priorityClassName: __, ...rest } = fieldsOf(spec);
    return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: rest };
  });
}
