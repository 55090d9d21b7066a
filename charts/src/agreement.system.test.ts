// The chart weir agrees with what the programs are tested under: roles, settings and custom resources.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { CHARTS } from "@weir/harness/helm/helm";
import { nameOf, RenderedChart, renderChart } from "@weir/harness/helm/render";
import { VALUES_FILES } from "./values-files.suite.ts";

const ROOT = join(CHARTS, "..");

/** The Role of operator/rbac/own-namespace.yaml has another name here: one namespace can hold both roles of the operator. */
const OWN_NAMESPACE = { tested: "Role/weir-operator", chart: "Role/weir-operator-own-namespace" };

/** The objects of the manifests of a folder. */
function manifests(folder: string): readonly Mapping[] {
  const files = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".yaml"));
  return files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(ROOT, folder, name), "utf8")).map((document) => fieldsOf(document.toJS())),
  );
}

/** The rules of the roles, by kind and name. */
function rulesOf(objects: readonly Mapping[]): ReadonlyMap<string, unknown> {
  const roles = objects.filter(({ kind }) => kind === "ClusterRole" || kind === "Role");
  return new Map(roles.map((role) => [`${String(role["kind"])}/${nameOf(role)}`, role["rules"]]));
}

/** The roles that operator and control plane are tested under. */
const TESTED = rulesOf([...manifests("operator/rbac"), ...manifests("control-plane/rbac")]);

/** Names of the settings of a program, as docs/settings.md lists them. */
function settingsOf(program: string): readonly string[] {
  const page = readFileSync(join(ROOT, "docs/settings.md"), "utf8");
  const [, section = ""] = page.split(`## \`${program}\`\n`);
  const [table = ""] = section.split("\n## ");
  return [...table.matchAll(/^\| `([A-Z0-9_]+)`/gm)].map(([, name = ""]) => name);
}

describe("the chart weir", () => {
  it("has the rules of each role that the programs are tested under", async () => {
    const values = { watchNamespaceSelector: "weir.dev/limits=enabled" };
    const rendered = new Map(rulesOf((await renderChart({ chart: "weir", values })).objects));
    const own = rendered.get(OWN_NAMESPACE.chart);
    rendered.delete(OWN_NAMESPACE.chart);
    expect(new Map([...rendered, [OWN_NAMESPACE.tested, own]])).toEqual(TESTED);
  });

  it("grants the rules of the cluster in each namespace when some are watched", async () => {
    const values = { watchNamespaces: ["weir-system", "shop"], rbac: { definitionReader: false, tenantRoles: false } };
    const chart = await renderChart({ chart: "weir", values: { ...values, webhook: { enabled: false } } });
    expect(chart.ofKind("ClusterRoleBinding")).toEqual([]);
    for (const namespace of ["weir-system", "shop"]) {
      const roles = chart.ofKind("Role").filter((role) => fieldsOf(role["metadata"])["namespace"] === namespace);
      const rules = rulesOf(roles);
      for (const name of ["weir-operator", "weir-control-plane", "weir-control-plane-revisions"])
        expect(rules.get(`Role/${name}`), `${name} in ${namespace}`).toEqual(TESTED.get(`ClusterRole/${name}`));
    }
  });

  it("sets variables that the programs have as settings", () => {
    for (const { chart, golden } of VALUES_FILES.filter((file) => file.chart === "weir")) {
      for (const deployment of RenderedChart.parse(readFileSync(golden, "utf8")).ofKind("Deployment")) {
        const template = fieldsOf(fieldsOf(deployment["spec"])["template"]);
        const [container = {}] = mappingsOf(fieldsOf(template["spec"])["containers"]);
        const names = mappingsOf(container["env"]).map(({ name }) => String(name));
        const program = String(fieldsOf(fieldsOf(deployment["metadata"])["labels"])["app.kubernetes.io/name"]);
        const unknown = names.filter((name) => !name.startsWith("OTEL_") && !settingsOf(program).includes(name));
        expect({ chart, golden, unknown }).toEqual({ chart, golden, unknown: [] });
        expect(names).toHaveLength(new Set(names).size);
      }
    }
  });

  it.each([
    { values: {}, domain: "cluster.local" },
    { values: { kubernetesClusterDomain: "corp.example" }, domain: "corp.example" },
  ])("binds pods to their certificates, and lets the operator read reports by its own, in $domain", async (each) => {
    const chart = await renderChart({ chart: "weir", values: each.values });
    const template = fieldsOf(fieldsOf(chart.only("Deployment", "weir-control-plane")["spec"])["template"]);
    const [container = {}] = mappingsOf(fieldsOf(template["spec"])["containers"]);
    const env = new Map(mappingsOf(container["env"]).map(({ name, value }) => [name, value]));
    const operator = fieldsOf(fieldsOf(chart.only("Deployment", "weir-operator")["spec"])["template"]);
    const [{ env: variables } = {}] = mappingsOf(fieldsOf(operator["spec"])["containers"]);
    expect(variables).toContainEqual({ name: "CLUSTER_DOMAIN", value: each.domain });
    expect(env.get("ADS_FLEET_FROM_CERTIFICATE")).toBe("true");
    // As operator/src/certificates/leaf-plan.ts names it.
    expect(env.get("ADS_REPORT_SANS")).toBe(`spiffe://${each.domain}/ns/weir-system/sa/weir-operator`);
  });

  it("has the probes and ports of the example that the operator is tested with", async () => {
    const chart = await renderChart({ chart: "weir" });
    const [example = {}] = manifests("examples/operator").filter(({ kind }) => kind === "Deployment");
    const containerOf = (deployment: Mapping): Mapping =>
      mappingsOf(fieldsOf(fieldsOf(fieldsOf(deployment["spec"])["template"])["spec"])["containers"])[0] ?? {};
    const rendered = containerOf(chart.only("Deployment", "weir-operator"));
    const tested = containerOf(example);
    for (const field of ["command", "ports", "livenessProbe", "resources", "volumeMounts", "securityContext"])
      expect(rendered[field], field).toEqual(tested[field]);
    expect(fieldsOf(rendered["readinessProbe"])).toMatchObject(fieldsOf(tested["readinessProbe"]));
  });

  it("has the policies of the examples, which the roles are tested with", async () => {
    const chart = await renderChart({ chart: "weir", values: { tenancy: { domainPrefix: true, fleetPrefix: true } } });
    const specsOf = (objects: readonly Mapping[]): ReadonlyMap<string, unknown> =>
      new Map(
        objects
          .filter(({ kind }) => String(kind).startsWith("ValidatingAdmissionPolicy"))
          .map((object) => [`${String(object["kind"])}/${nameOf(object)}`, object["spec"]]),
      );
    // The policy that keeps the definitions is a choice of their chart's users: it also keeps helm from removing them.
    const examples = manifests("examples/policies").filter((object) => !nameOf(object).startsWith("weir-definitions"));
    expect(specsOf(examples).size).toBe(4);
    expect(specsOf(chart.objects)).toEqual(specsOf(examples));
  });
});

it("the chart weir-crds has the definitions of crds/crds, kept when the release goes", async () => {
  const chart = await renderChart({ chart: "weir-crds" });
  const specs = (objects: readonly Mapping[]): ReadonlyMap<string, unknown> =>
    new Map(objects.map((object) => [nameOf(object), object["spec"]]));
  expect(specs(chart.objects)).toEqual(specs(manifests("crds/crds")));
  for (const { metadata } of chart.objects)
    expect(fieldsOf(metadata)["annotations"]).toMatchObject({ "helm.sh/resource-policy": "keep" });
});
