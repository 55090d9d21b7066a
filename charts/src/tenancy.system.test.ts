// The policies of tenancy.domainPrefix and tenancy.fleetPrefix, as the chart installs them, on a real API server.
// operator/src/roles.system.test.ts has every form of what they allow.
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { nameOf, renderChart, renderYaml } from "@weir/harness/helm/render";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const API_VERSION = "ratelimit.weir.dev/v1alpha1";

/** The values of the chart, and the kinds of its objects that are applied: policies and their bindings, and no more. */
const VALUES = { tenancy: { domainPrefix: true, fleetPrefix: true }, watchNamespaces: ["weir-system", "shop"] };
const KINDS = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];

let cluster: KubernetesCluster;

/** Creates an object without storing it; the answer is that of kubectl. */
async function create(kind: string, namespace: string, spec: object): Promise<{ code: number | null; stderr: string }> {
  const object = { apiVersion: API_VERSION, kind, metadata: { name: "new", namespace }, spec };
  return await cluster.kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(object));
}

async function claim(namespace: string, domain: string): Promise<{ code: number | null; stderr: string }> {
  return await create("RateLimitConfig", namespace, { domain });
}

async function name(namespace: string, fleet: string): Promise<{ code: number | null; stderr: string }> {
  return await create("RateLimitService", namespace, { fleet, backend: { type: "memory" } });
}

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.apply(await renderYaml({ chart: "weir-crds" }));
  for (const namespace of ["shop", "search"]) await cluster.kubectl(["create", "namespace", namespace]);
  const rights = ["ratelimit.weir.dev/domains=legacy,web-*", "ratelimit.weir.dev/fleets=gold"];
  await cluster.kubectl(["annotate", "namespace", "shop", ...rights]);
  const { objects } = await renderChart({ chart: "weir", values: VALUES });
  const policies = objects.filter(({ kind }) => KINDS.includes(String(kind)));
  await cluster.apply(policies.map((policy) => JSON.stringify(policy)).join("\n---\n"));
  await eventually("the policies", async () => {
    expect((await claim("shop", "other")).code).toBe(1);
    expect((await name("shop", "other")).code).toBe(1);
  });
});

afterAll(async () => {
  await cluster.stop();
});

describe("tenancy.domainPrefix of the chart weir", () => {
  it.each(["shop.web", "legacy", "web-eu"])("allows the domain %s in its namespace", async (domain) => {
    expect(await claim("shop", domain)).toMatchObject({ code: 0, stderr: "" });
  });

  it.each(["search.web", "shop", "shopping.web", "web"])("refuses the domain %s of others", async (domain) => {
    const { code, stderr } = await claim("shop", domain);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `the namespace shop may not claim the domain ${domain}, it may claim shop.*, legacy, web-* (annotation ratelimit.weir.dev/domains of the Namespace)`,
    );
  });

  it("leaves namespaces alone that are not watched", async () => {
    expect(await claim("search", "any")).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("tenancy.fleetPrefix of the chart weir", () => {
  it.each(["shop.web", "gold"])("allows the fleet %s in its namespace", async (fleet) => {
    expect(await name("shop", fleet)).toMatchObject({ code: 0, stderr: "" });
  });

  it("refuses the fleet of another namespace", async () => {
    const { code, stderr } = await name("shop", "search.web");
    expect([code, stderr]).toEqual([1, expect.stringContaining("may not have the fleet search.web") as string]);
  });
});

describe("the chart weir", () => {
  it.each([
    { tenancy: {}, made: [] },
    { tenancy: { domainPrefix: true }, made: ["weir-domains-of-namespaces"] },
    { tenancy: { fleetPrefix: true }, made: ["weir-fleets-of-namespaces"] },
  ])("makes the policies $made for $tenancy", async ({ tenancy, made }) => {
    const chart = await renderChart({ chart: "weir", values: { tenancy } });
    for (const kind of KINDS) expect(chart.ofKind(kind).map(nameOf)).toEqual(made);
  });
});
