// The operator under the rights of the chart weir, while these go and return, and while upgrades change the namespaces
// that it watches: what is in the others says so.
import { join } from "node:path";
import { eventually } from "@weir/harness/processes/eventually";
import { startSource } from "@weir/harness/processes/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { runToEnd } from "@weir/harness/processes/run-to-end";
import type { Program } from "@weir/harness/processes/start-process";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { CHARTS } from "@weir/harness/helm/helm";
import { fieldsOf, mappingsOf } from "@weir/kubernetes/mapping";
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { Releases } from "./releases.suite.ts";

const NAMESPACE = "weir-system";
const GROUP = "ratelimit.weir.dev/v1alpha1";

/** The reason in statuses without a control plane, in a namespace that is watched. */
const WATCHED = "NoControlPlane";

/** Writes that are denied until waits after failures would be longer than a right may take to be noticed. */
const DENIED_WRITES = 10;

/** Longest time until a right that returns takes effect, in milliseconds. */
const RIGHT_RETURNS_MS = 15_000;

/** Longest wait for the warning: the operator waits for a right for a minute. */
const WARNING_TIMEOUT_MS = 100_000;

let cluster: KubernetesCluster;
let releases: Releases;
let operator: Program | undefined;
let kubeconfig: string;

/** Upgrades the release to these values, and replaces the operator as its Deployment does. */
async function upgrade(...values: readonly string[]): Promise<void> {
  const fixed = ["webhook.enabled=false", "rateLimitService.create=false", ...values];
  const flags = fixed.flatMap((value) => ["--set", value]);
  await operator?.end();
  await releases.succeed("upgrade", "--install", "weir", join(CHARTS, "weir"), "--reset-values", ...flags);
  const { stdout } = await cluster.kubectl(["get", "deployment", "weir-operator", "-n", NAMESPACE, "-o", "json"]);
  const template = fieldsOf(fieldsOf(fieldsOf(JSON.parse(stdout))["spec"])["template"]);
  const [container] = mappingsOf(fieldsOf(template["spec"])["containers"]);
  const settings = mappingsOf(container?.["env"]).filter(({ name }) => String(name).startsWith("WATCH_"));
  operator = startSource("operator/src/main.ts", {
    ...Object.fromEntries(settings.map(({ name, value }) => [String(name), String(value)])),
    KUBECONFIG: kubeconfig,
    OPERATOR_NAMESPACE: NAMESPACE,
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: String(await reservePort()),
    LEASE_DURATION: "4s",
    LEASE_RENEW_DEADLINE: "3s",
    LEASE_RETRY_PERIOD: "500ms",
  });
}

async function condition(what: string, namespace: string, field: "reason" | "message" = "reason"): Promise<string> {
  const path = `jsonpath={.status.conditions[?(@.type=="Ready")].${field}}`;
  return await cluster.run(["get", what, "-n", namespace, "-o", path]);
}

/** A RateLimitConfig with one rule. */
function config(namespace: string, key: string): string {
  const spec = { domain: namespace, descriptors: [{ key }] };
  return stringify({ apiVersion: GROUP, kind: "RateLimitConfig", metadata: { name: "a", namespace }, spec });
}

/** Waits until the condition Ready of these has the reason. */
async function expectReasons(reasons: Readonly<Record<string, string>>): Promise<void> {
  for (const [place, reason] of Object.entries(reasons)) {
    const [namespace = "", what = ""] = place.split(" ");
    await eventually(`${reason} of ${place}`, async () => {
      expect(await condition(what, namespace), operator?.text()).toBe(reason);
    });
  }
}

async function rolesIn(namespace: string): Promise<readonly string[]> {
  const names = await cluster.run(["get", "roles", "-n", namespace, "-o", "jsonpath={.items[*].metadata.name}"]);
  return names.split(" ").filter((name) => name.startsWith("weir-operator"));
}

beforeAll(async () => {
  cluster = await startKubernetesCluster({ isAudited: true });
  releases = new Releases(cluster, NAMESPACE, 3);
  await cluster.createNamespaces(NAMESPACE, "shop", "web");
  await releases.succeed("install", "weir-crds", join(CHARTS, "weir-crds"));
  await eventually("the definitions to be served", () => cluster.run(["get", "rlc,rls", "--all-namespaces"]));
  for (const namespace of ["shop", "web"]) await cluster.apply(config(namespace, "user"));
  const spec = { backend: { type: "memory" }, replicas: 1 };
  const metadata = { name: "edge", namespace: "web" };
  await cluster.apply(stringify({ apiVersion: GROUP, kind: "RateLimitService", metadata, spec }));
  const flags = ["--set", "webhook.enabled=false", "--set", "rateLimitService.create=false"];
  await releases.succeed("install", "weir", join(CHARTS, "weir"), ...flags);
  kubeconfig = join(cluster.folder, "operator.kubeconfig");
  writeFileSync(kubeconfig, cluster.kubeconfig({}, await cluster.tokenOf("weir-operator", NAMESPACE)));
});

afterAll(async () => {
  await operator?.end();
  await cluster.stop();
});

describe("the operator", () => {
  it("does not ask for the configuration of a webhook that is off", async () => {
    await upgrade();
    await expectReasons({ "shop rlc/a": WATCHED, "web rlc/a": WATCHED });
    await eventually("certificates", async () => {
      await cluster.run(["get", "secret", "weir-operator-tls", "-n", NAMESPACE]);
    });
    const asked = cluster.audit().filter(({ resource, status }) => resource.startsWith("validating") || status === 403);
    expect(asked).toEqual([]);
  });

  it("writes within 15 s of the return of a right, however long that was missing", async () => {
    const binding = await cluster.run(["get", "clusterrolebinding", "weir-operator", "-o", "yaml"]);
    await cluster.run(["delete", "clusterrolebinding", "weir-operator"]);
    const denied = (): number =>
      cluster.audit().filter(({ resource, status }) => resource === "ratelimitconfigs/status" && status === 403).length;
    for (const namespace of ["shop", "web"]) await cluster.apply(config(namespace, "other"));
    await eventually(
      "writes that are denied",
      () => expect(denied()).toBeGreaterThanOrEqual(2 * DENIED_WRITES),
      WARNING_TIMEOUT_MS,
    );
    expect(operator?.text()).toMatch(/lacks the verb ."patch." on ."ratelimitconfigs\/status."/);
    await cluster.apply(binding.replace(/^ {2}(uid|resourceVersion|creationTimestamp):.*\n/gm, ""));
    await eventually(
      "the statuses",
      async () => {
        for (const namespace of ["shop", "web"]) {
          const path = "jsonpath={.metadata.generation} {.status.observedGeneration}";
          const [generation, observed] = (await cluster.run(["get", "rlc/a", "-n", namespace, "-o", path])).split(" ");
          expect(observed).toBe(generation);
        }
      },
      RIGHT_RETURNS_MS,
    );
  });

  it("sets no timer with a delay below 0 while the API server is frozen", async () => {
    await cluster.apiServer.pause();
    try {
      await eventually("the lost Lease", () => expect(operator?.text()).toContain("Not the leader any more"));
    } finally {
      cluster.apiServer.resume();
    }
    expect(operator?.text()).not.toContain("TimeoutNegativeWarning");
  });

  it("marks what is in namespaces that it does not watch any more, and loses its rights there", async () => {
    await eventually("the note", async () => {
      const lease = await cluster.run(["get", "lease", "weir-operator", "-n", NAMESPACE, "-o", "yaml"]);
      expect(lease).toContain("ratelimit.weir.dev/namespaces: shop,web");
    });
    await upgrade("watchNamespaces={weir-system,shop}");
    await expectReasons({ "web rlc/a": "NotWatched", "web rls/edge": "NotWatched", "shop rlc/a": WATCHED });
    expect(await condition("rlc/a", "web", "message")).toBe(
      "Weir does not watch this namespace any more: WATCH_NAMESPACES does not name it",
    );
    expect(await rolesIn("web")).toEqual(["weir-operator-not-watched"]);
    await upgrade("watchNamespaces={weir-system,shop}");
    expect(await rolesIn("web")).toEqual([]);
  });

  it("writes statuses again in a namespace that comes back, and marks them when it goes again", async () => {
    await upgrade("watchNamespaces={weir-system,shop,web}");
    await expectReasons({ "web rlc/a": WATCHED });
    // There is no controller of Deployments.
    const observed = JSON.stringify({ status: { observedGeneration: 9 } });
    await cluster.run([
      ...["patch", "deployment", "edge", "-n", "web"],
      ...["--subresource=status", "--type=merge", "-p", observed],
    ]);
    await eventually("the status of the service", async () => {
      expect(await condition("rls/edge", "web")).not.toBe("NotWatched");
    });
    await eventually("the note", async () => {
      const lease = await cluster.run(["get", "lease", "weir-operator", "-n", NAMESPACE, "-o", "yaml"]);
      expect(lease).toContain("ratelimit.weir.dev/namespaces: shop,web");
    });
    await upgrade("watchNamespaces={weir-system,web}");
    await expectReasons({ "shop rlc/a": "NotWatched", "web rlc/a": WATCHED });
  });

  it("names the namespace and a command that works when it has no rights there any more", async () => {
    await upgrade("watchNamespaces={weir-system,shop}", "rbac.notWatched=false");
    const command = await eventually(
      "the warning",
      () => {
        const [, text] = /command="?(kubectl .*null\}')/.exec(operator?.text().replaceAll("\\", "") ?? "") ?? [];
        if (text === undefined) throw new Error(operator?.text());
        return text;
      },
      WARNING_TIMEOUT_MS,
    );
    expect(await rolesIn("web")).toEqual([]);
    expect(await condition("rlc/a", "web")).toBe(WATCHED);
    const env = {
      ...process.env,
      PATH: `${cluster.programs}:${process.env["PATH"]}`,
      KUBECONFIG: cluster.kubeconfigPath,
    };
    expect(await runToEnd("sh", ["-c", command], "", env)).toMatchObject({ code: 0 });
    expect([await condition("rlc/a", "web"), await condition("rls/edge", "web")]).toEqual(["", ""]);
  });

  it("follows the labels of Namespaces", async () => {
    await cluster.run(["label", "namespace", "web", "limits=on"]);
    await upgrade("watchNamespaceSelector=limits=on");
    await expectReasons({ "shop rlc/a": "NamespaceNotSelected", "web rlc/a": WATCHED });
    await cluster.run(["label", "namespace", "web", "limits-"]);
    await cluster.run(["label", "namespace", "shop", "limits=on"]);
    await expectReasons({ "web rlc/a": "NamespaceNotSelected", "shop rlc/a": WATCHED });
    const accepted = 'jsonpath={.status.conditions[?(@.type=="Accepted")].status}';
    expect(await cluster.run(["get", "rlc/a", "-n", "web", "-o", accepted])).toBe("Unknown");
    expect(await condition("rlc/a", "web", "message")).toBe(
      "Weir does not watch this namespace: its labels are not those of WATCH_NAMESPACE_SELECTOR, limits=on",
    );
  });
});
