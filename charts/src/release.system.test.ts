// The life of a release in a cluster: both charts are installed, upgraded, rolled back and uninstalled, and limits survive.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/testing/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CHARTS, type CommandResult, helm } from "./helm.ts";

const NAMESPACE = "weir-system";

/** Longest wait of Helm for pods; two replicas take seconds. */
const WAIT = ["--wait", "--timeout", "3m"];

const LIMIT = `
apiVersion: ratelimit.weir.dev/v1alpha1
kind: RateLimitConfig
metadata: {name: kept, namespace: ${NAMESPACE}}
spec: {domain: kept, descriptors: [{key: path, rateLimit: {unit: minute, requestsPerUnit: 5}}]}
`;

let cluster: KubernetesCluster;

beforeAll(async () => {
  cluster = await startKubernetesCluster({ full: true });
  await cluster.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: ${NAMESPACE}}}`);
});

afterAll(async () => {
  await cluster.stop();
});

it("the charts install in two commands, upgrade, roll back, and leave limits when they go", async () => {
  // Nothing is created before all kinds are known, so the remedy is a second command, not a cleaning.
  const early = await inCluster("install", "weir", join(CHARTS, "weir"));
  expect(early.code).toBe(1);
  expect(early.stderr).toContain(`no matches for kind "RateLimitService" in version "ratelimit.weir.dev/v1alpha1"`);
  expect(early.stderr).toContain("ensure CRDs are installed first");

  await succeed("install", "weir-crds", join(CHARTS, "weir-crds"), ...WAIT);
  await succeed("install", "weir", join(CHARTS, "weir"), "--set", "certificates.source=external", ...EXTERNAL);
  expect(await get("deployments", "{.items[*].metadata.name}")).toBe("weir-control-plane weir-operator");
  expect(await get("rls/ratelimit", "{.spec.backend.type}")).toBe("memory");
  await cluster.apply(LIMIT);

  await succeed("upgrade", "weir-crds", nextVersion("weir-crds"), ...WAIT);
  await succeed(
    "upgrade",
    "weir",
    nextVersion("weir"),
    "--reset-then-reuse-values",
    "--set",
    "operator.replicas=3",
    ...WAIT,
  );
  expect(await operator()).toBe("3 weir-99.0.0");
  expect(await get("crd/ratelimitconfigs.ratelimit.weir.dev", LABEL)).toBe("weir-crds-99.0.0");

  await succeed("rollback", "weir", "1", ...WAIT);
  expect(await operator()).toBe(`2 weir-${versionOf("weir")}`);

  await succeed("uninstall", "weir", "--wait");
  await succeed("uninstall", "weir-crds", "--wait");
  expect(await get("deployments", "{.items[*].metadata.name}")).toBe("");
  expect(await get("rlc/kept", "{.spec.domain}")).toBe("kept");

  // The definitions carry the name of the release that made them, so the same command takes them over again.
  await succeed("install", "weir-crds", join(CHARTS, "weir-crds"), "--set", "keep=false", ...WAIT);
  await succeed("uninstall", "weir-crds", "--wait");
  expect(await get("crd", "{.items[*].metadata.name}")).toBe("");
}, 300_000);

/** Pods that kwok runs make no Secrets, so these are said to be brought along; the test never starts a program. */
const EXTERNAL = [
  "--set",
  "webhook.enabled=false",
  "--set",
  "rateLimitService.spec.controlPlane.certificateSecret=brought",
  ...WAIT,
];

const LABEL = String.raw`{.metadata.labels.helm\.sh/chart}`;

async function operator(): Promise<string> {
  const replicas = await get("deployment/weir-operator", "{.status.readyReplicas}");
  return `${replicas} ${await get("deployment/weir-operator", LABEL)}`;
}

/** A copy of a chart with a later version. */
function nextVersion(chart: string): string {
  const copy = join(cluster.folder, `${chart}-next`);
  cpSync(join(CHARTS, chart), copy, { recursive: true });
  const path = join(copy, "Chart.yaml");
  writeFileSync(path, readFileSync(path, "utf8").replace(/^version: .*$/m, "version: 99.0.0"));
  return copy;
}

function versionOf(chart: string): string {
  return /^version: (.*)$/m.exec(readFileSync(join(CHARTS, chart, "Chart.yaml"), "utf8"))?.[1] ?? "";
}

async function get(what: string, path: string): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(["get", what, "-n", NAMESPACE, "-o", `jsonpath=${path}`]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

async function inCluster(...args: readonly string[]): Promise<CommandResult> {
  return await helm([...args, "--namespace", NAMESPACE, "--kubeconfig", cluster.kubeconfigPath]);
}

async function succeed(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await inCluster(...args);
  expect({ args, code }, stderr).toEqual({ args, code: 0 });
}
