// Tests of the CRD of RateLimitService on a real API server: what it accepts and refuses, with which
// messages, and what kubectl shows.
import { readFileSync } from "node:fs";

import { refusalBy } from "../../rate-limit-config/api-server/server-dry-run.suite.ts";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { ACCEPTED_SERVICES, FULL_SPEC, REFUSED_SERVICES, serviceManifest } from "./service-case.suite.ts";

let cluster: KubernetesCluster;
beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitservices");
});
afterAll(async () => {
  await cluster.stop();
});

async function refusalOf(spec: unknown, name?: string): Promise<string> {
  return (await refusalBy(cluster.api, serviceManifest(spec, name), "ratelimitservices")) ?? "";
}

describe("the API server", () => {
  it("accepts every example of the documentation", async () => {
    const page = readFileSync(new URL("../../../../docs/rate-limit-service.md", import.meta.url), "utf8");
    const examples = [...page.matchAll(/```yaml\n([^`]*)```/g)].flatMap(([, text = ""]) => text.split("---\n"));
    await cluster.createNamespaces("gateway");
    for (const example of examples) await cluster.apply(example);
    expect(examples).toHaveLength(6);
  });

  it.each(ACCEPTED_SERVICES)("accepts %s", async (_, spec) => {
    expect(await refusalOf(spec)).toBe("");
  });

  it.each(REFUSED_SERVICES)("refuses %s", async (_, spec, refusal) => {
    expect(await refusalOf(spec)).toContain(refusal);
  });

  it("refuses the name ca, whose certificate would have the name of the authorities", async () => {
    expect(await refusalOf({ backend: { type: "memory" } }, "ca")).toContain("metadata.name must not be ca");
  });

  it.each(["x".repeat(53), "9lives", "a.b"])(
    "refuses the name %s, after which no Service can be named",
    async (name) => {
      expect(await refusalOf({ backend: { type: "memory" } }, name)).toContain(
        'metadata.name must have at most 52 lower-case letters, digits and "-", begin with a letter and end with a letter or digit',
      );
    },
  );
});

describe("the API server, of a resource that there is", () => {
  it.each([
    { what: "another fleet", before: "mine", after: "theirs" },
    { what: "a fleet for the first time", before: undefined, after: "theirs" },
    { what: "no fleet any more", before: "mine", after: null },
  ])("refuses $what", async ({ before, after }) => {
    await cluster.apply(serviceManifest({ backend: { type: "memory" }, fleet: before }, "fixed"));
    const patch = JSON.stringify({ spec: { fleet: after } });
    const { code, stderr } = await cluster.kubectl(["patch", "rls", "fixed", "--type=merge", "-p", patch]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("spec.fleet: Forbidden: fleet cannot be changed; delete and re-create the resource"),
    ]);
    await cluster.kubectl(["delete", "rls", "fixed"]);
  });
});

describe("kubectl", () => {
  it("explains every field", async () => {
    const { stdout } = await cluster.kubectl(["explain", "rls.spec.backend.redis.perSecond", "--recursive"]);
    expect(stdout).toContain("A store of its own for counters per second");
    expect(stdout).toMatch(/sentinel\s+<Object>/);
  });

  it("shows what the columns say, and scales", async () => {
    await cluster.apply(serviceManifest({ ...FULL_SPEC, autoscaling: undefined, replicas: 2 }, "edge"));
    const conditions = [
      {
        ...{ type: "Degraded", status: "True", reason: "RolloutStuck", message: "exceeded quota" },
        lastTransitionTime: "2026-01-31T12:00:00Z",
      },
    ];
    const selector = "app.kubernetes.io/instance=edge";
    const status = { replicas: 2, readyReplicas: 1, fleet: "edge", selector, conditions };
    const patched = await cluster.kubectl([
      "patch",
      "rls",
      "edge",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify({ status }),
    ]);
    expect(patched.code).toBe(0);
    const { stdout } = await cluster.kubectl(["get", "rls", "edge"]);
    expect(stdout.split("\n").map((line) => line.trim().split(/\s+/))).toMatchObject([
      ["NAME", "READY", "REPLICAS", "BACKEND", "FLEET", "DEGRADED", "AGE"],
      ["edge", "1", "2", "redis", "edge", "RolloutStuck", expect.any(String)],
      [""],
    ]);
    expect((await cluster.kubectl(["scale", "rls", "edge", "--replicas=5"])).code).toBe(0);
    const scaled = await cluster.kubectl(["get", "rls", "edge", "-o", "jsonpath={.spec.replicas}"]);
    expect(scaled.stdout).toBe("5");
  });
});
