// Tests of what kubectl users do with the resources, on a real API server with controllers: kubectl
// itself, `weir status`, and the plugin `kubectl weir`. Statuses are written as the operator does.
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import type { ProgramResult } from "@weir/harness/processes/run-to-end";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { startProgram } from "@weir/harness/processes/start-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const WEIR = "ratelimit.weir.dev/v1alpha1";

let cluster: KubernetesCluster;
/** Variables of a user of the cluster who has the plugin installed. */
let environment: NodeJS.ProcessEnv;

function config(name: string, spec: object = {}): string {
  const whole = {
    domain: name,
    descriptors: [{ key: "k", rateLimit: { unit: "second", requestsPerUnit: 1 } }],
    ...spec,
  };
  return JSON.stringify({
    apiVersion: WEIR,
    kind: "RateLimitConfig",
    metadata: { name, namespace: "web" },
    spec: whole,
  });
}

async function generationOf(name: string): Promise<number> {
  const { stdout } = await cluster.kubectl(["get", "rlc", name, "-n", "web", "-o", "jsonpath={.metadata.generation}"]);
  return Number(stdout);
}

/** Writes a status as the operator does. */
async function setStatus(name: string, status: "True" | "False", reason: string, rest: object = {}): Promise<void> {
  const observedGeneration = await generationOf(name);
  const condition = { status, reason, message: `because ${reason}`, observedGeneration };
  const conditions = ["Accepted", "Programmed", "Ready"].map((type) => ({
    type,
    lastTransitionTime: "2026-01-31T12:00:00Z",
    ...condition,
  }));
  const object = {
    apiVersion: WEIR,
    kind: "RateLimitConfig",
    metadata: { name, namespace: "web" },
    status: { observedGeneration, conditions, ...rest },
  };
  const apply = ["apply", "--server-side", "--subresource=status", "--field-manager=weir-operator", "-f", "-"];
  expect(await cluster.kubectl(apply, JSON.stringify(object))).toMatchObject({ code: 0 });
}

/** Runs a program as the user does. */
async function run(command: string, args: readonly string[]): Promise<ProgramResult> {
  const { promise, resolve } = Promise.withResolvers<ProgramResult>();
  execFile(command, args, { cwd: ROOT, env: environment }, (error, stdout, stderr) =>
    resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
  );
  return await promise;
}

async function weir(...args: readonly string[]): Promise<ProgramResult> {
  return await run(process.execPath, ["--conditions=source", "cli/src/main.ts", ...args]);
}

async function kubectlWeir(...args: readonly string[]): Promise<ProgramResult> {
  return await run(cluster.kubectlPath, ["weir", ...args]);
}

beforeAll(async () => {
  cluster = await startKubernetesCluster({ full: true });
  const bin = join(cluster.folder, "bin");
  mkdirSync(bin);
  const plugin = join(bin, "kubectl-weir");
  const script = join(ROOT, "cli/src/kubectl-weir.ts");
  writeFileSync(plugin, `#!/bin/sh\nexec "${process.execPath}" --conditions=source "${script}" "$@"\n`);
  chmodSync(plugin, 0o755);
  const kubeconfig = join(cluster.folder, "kubeconfig-web");
  const content = JSON.parse(readFileSync(cluster.kubeconfigPath, "utf8")) as { contexts: { context: object }[] };
  const contexts = content.contexts.map((each) => ({ ...each, context: { ...each.context, namespace: "web" } }));
  writeFileSync(kubeconfig, JSON.stringify({ ...content, contexts }));
  environment = { ...process.env, KUBECONFIG: kubeconfig, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };
  await cluster.createNamespaces("web", "empty", "weir-system");
  await cluster.installKinds("ratelimitconfigs", "ratelimitservices");
  const service = {
    apiVersion: WEIR,
    kind: "RateLimitService",
    metadata: { name: "edge", namespace: "web" },
    spec: { replicas: 1, backend: { type: "memory" } },
  };
  await cluster.apply([config("shop"), config("api"), JSON.stringify(service)].join("\n---\n"));
});

afterAll(async () => {
  await cluster.stop();
});

describe("kubectl", () => {
  it("wait is never satisfied by the status of an earlier generation", async () => {
    const wait = (timeout: string) =>
      cluster.kubectl(["wait", "--for=condition=Ready", "rlc/shop", "-n", "web", `--timeout=${timeout}`]);
    await setStatus("shop", "True", "Programmed");
    expect(await wait("20s")).toMatchObject({ code: 0 });
    await cluster.apply(config("shop", { descriptors: [{ key: "other" }] }));
    expect(await wait("1s")).toMatchObject({ code: 1, stderr: expect.stringContaining("timed out") as string });
    const waiting = wait("30s");
    await setStatus("shop", "True", "Programmed");
    expect(await waiting).toMatchObject({ code: 0, stdout: "ratelimitconfig.ratelimit.weir.dev/shop condition met\n" });
  });

  it("get --watch shows the columns as they change", async () => {
    const own = ["--kubeconfig", cluster.kubeconfigPath, "--cache-dir", join(cluster.folder, "kubectl-cache")];
    const watching = startProgram(cluster.kubectlPath, [...own, "get", "rlc", "api", "-n", "web", "--watch"]);
    const shown = (line: RegExp): Promise<void> =>
      eventually("the line", () => expect(watching.output()).toMatch(line));
    try {
      await shown(/^NAME +DOMAIN +ACCEPTED +PROGRAMMED +PODS +REASON +SHADOW +AGE$/m);
      await setStatus("api", "False", "RejectedByDataPlane", { pods: { summary: "1/2" } });
      await shown(/^api +api +False +False +1\/2 +RejectedByDataPlane /m);
      await setStatus("api", "True", "Programmed", { pods: { summary: "2/2" } });
      await shown(/^api +api +True +True +2\/2 +Programmed /m);
    } finally {
      await watching.end();
    }
  });

  it("diff shows what an apply would change, and nothing after it", async () => {
    const changed = config("api", { descriptors: [{ key: "new" }] });
    const diff = () => cluster.kubectl(["diff", "--server-side", "--force-conflicts", "-f", "-"], changed);
    expect(await diff()).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\+.*key: new$/m) as string });
    await cluster.apply(changed);
    expect(await diff()).toMatchObject({ code: 0, stdout: "" });
  });

  it.each([
    { path: "rlc.spec.descriptors.rateLimit.unit", text: "FIELD: unit" },
    { path: "rlc.status.rejections", text: "FIELD: rejections" },
    { path: "rls.spec.backend", text: "FIELD: backend" },
  ])("explain describes $path", async ({ path, text }) => {
    const { code, stdout } = await cluster.kubectl(["explain", path]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(text) as string]);
    expect(stdout).not.toContain("<empty>");
  });

  it("--dry-run=server checks and stores nothing", async () => {
    const apply = (text: string) => cluster.kubectl(["apply", "--server-side", "--dry-run=server", "-f", "-"], text);
    expect(await apply(config("dry"))).toMatchObject({ code: 0, stdout: expect.stringContaining("dry run") as string });
    expect(await apply(config("dry", { descriptors: [{ key: "" }] }))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("spec.descriptors[0].key") as string,
    });
    expect((await cluster.kubectl(["get", "rlc", "dry", "-n", "web"])).stderr).toContain("not found");
  });

  it("apply --server-side lets two managers own rules of one resource, and names the other in a conflict", async () => {
    const apply = (manager: string, requestsPerUnit: number, keys: readonly string[]) => {
      const descriptors = keys.map((key) => ({ key, rateLimit: { unit: "hour", requestsPerUnit } }));
      const manifest = config("shared", { descriptors });
      return cluster.kubectl(["apply", "--server-side", `--field-manager=${manager}`, "-f", "-"], manifest);
    };
    expect(await apply("one", 1, ["a"])).toMatchObject({ code: 0 });
    expect(await apply("two", 2, ["b"])).toMatchObject({ code: 0 });
    const { stdout } = await cluster.kubectl([
      "get",
      "rlc",
      "shared",
      "-n",
      "web",
      "-o",
      "jsonpath={.spec.descriptors[*].key}",
    ]);
    expect(stdout.split(" ").toSorted()).toEqual(["a", "b"]);
    const { code, stderr } = await apply("two", 3, ["a", "b"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('conflict with "one"') as string]);
  });

  it("scale changes the replicas of a RateLimitService", async () => {
    expect(await cluster.kubectl(["scale", "rls/edge", "-n", "web", "--replicas=3"])).toMatchObject({ code: 1 });
    const patch = '--patch={"spec":{"backend":{"memory":{"allowUnsharedCounters":true}}}}';
    expect(await cluster.kubectl(["patch", "rls", "edge", "-n", "web", "--type=merge", patch])).toMatchObject({
      code: 0,
    });
    expect(await cluster.kubectl(["scale", "rls/edge", "-n", "web", "--replicas=3"])).toMatchObject({ code: 0 });
    const { stdout } = await cluster.kubectl(["get", "rls", "edge", "-n", "web", "-o", "jsonpath={.spec.replicas}"]);
    expect(stdout).toBe("3");
  });

  it("delete namespace takes its resources with it, because nothing has a finalizer", async () => {
    await cluster.apply(JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "gone" } }));
    await cluster.apply(config("late").replace('"namespace":"web"', '"namespace":"gone"'));
    const { code, stderr } = await cluster.kubectl(["delete", "namespace", "gone", "--timeout=50s"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect((await cluster.kubectl(["get", "rlc", "-A", "-o", "name"])).stdout).not.toContain("late");
  });
});

describe("weir status", () => {
  beforeAll(async () => {
    await setStatus("shop", "False", "RejectedByDataPlane", {
      rejections: [{ pod: "web/edge-1", message: "web/shop: unknown unit" }],
      problems: [{ field: "spec.descriptors[0]", message: "is odd" }],
    });
    await setStatus("api", "True", "Programmed");
  });

  it("shows one resource in the namespace of the context, and ends with 1 when it is not ready", async () => {
    const { code, stdout, stderr } = await weir("status", "shop");
    expect([code, stderr]).toEqual([1, ""]);
    expect(stdout).toContain("not ready: RejectedByDataPlane: because RejectedByDataPlane\n");
    expect(stdout).toContain("PROBLEMS\n  spec.descriptors[0]: is odd\n");
    expect(stdout).toContain("REJECTED BY\n  web/edge-1: web/shop: unknown unit\n");
    expect(await weir("status", "rlc/api")).toMatchObject({ code: 0 });
  });

  it("shows all resources, the worst first, as a table and as JSON and YAML", async () => {
    const { code, stdout } = await weir("status", "-A");
    expect(code).toBe(1);
    expect(stdout.split("\n").map((line) => line.split(/ +/).slice(0, 3).join(" "))).toEqual([
      "NAMESPACE NAME READY",
      "web rlc/shop False",
      "web rls/edge Unknown",
      "web rlc/shared Unknown",
      "web rlc/api True",
      "",
    ]);
    const json = await weir("status", "api", "-o", "json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: true,
      resources: [{ kind: "RateLimitConfig", namespace: "web", name: "api", ready: "True", reason: "Programmed" }],
    });
    expect((await weir("status", "api", "-oyaml")).stdout).toMatch(
      /^ok: true\nresources:\n {2}- kind: RateLimitConfig\n/,
    );
  });

  it.each([
    { args: ["none"], code: 1, stderr: "weir status: there is no RateLimitConfig none in the namespace web\n" },
    { args: ["-n", "empty"], code: 0, stderr: "weir status: there are no resources in the namespace empty\n" },
    {
      args: ["--context", "none"],
      code: 2,
      stderr: /^weir status: Cannot use the kubeconfig .*: there is no context "none"\n$/,
    },
    {
      args: ["--kubeconfig", "/none"],
      code: 2,
      stderr: "weir status: Cannot use the kubeconfig /none: it does not exist\n",
    },
  ])("ends with $code for $args", async ({ args, code, stderr }) => {
    expect(await weir("status", ...args)).toEqual({
      code,
      stdout: "",
      stderr: typeof stderr === "string" ? stderr : (expect.stringMatching(stderr) as string),
    });
  });
});

describe("kubectl weir", () => {
  it("is found by kubectl, and names itself so", async () => {
    expect((await kubectlWeir("help", "status")).stdout).toContain("Usage: kubectl weir status [NAME]");
    expect((await kubectlWeir("--help")).stdout).toContain("kubectl weir COMMAND");
    expect(await kubectlWeir("status", "api", "-n", "web")).toMatchObject({ code: 0 });
    expect(await kubectlWeir("check", "examples/limits")).toMatchObject({ code: 0 });
  });

  it("completes its commands", async () => {
    const { stdout } = await run("sh", ["cli/bin/kubectl_complete-weir", "s"]);
    const { stderr } = await kubectlWeir("none");
    const known = /known are: (.*?);/.exec(stderr)?.[1]?.split(", ") ?? [];
    expect(stdout).toBe(`${[...known, "help", ":4"].join("\n")}\n`);
  });

  it("rollout names what is missing when there is no control plane", async () => {
    expect(await kubectlWeir("rollout")).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "weir rollout: Cannot find replicas of the Service weir-system/weir-control-plane-headless: it does not exist or has no pods, name it with --control-plane-service and --control-plane-namespace\n",
    });
  });

  it("explain reads the rules of the namespace with the rights of the user", async () => {
    const request = ["--domain", "api", "-d", "new=1"];
    const { code, stdout, stderr } = await kubectlWeir("explain", ...request);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("domain api (web/api spec.domain)\n");
    expect(stdout).toContain("> new  taken: any value of this key (web/api spec.descriptors[0])");
    expect(await weir("explain", "--from-cluster", "-A", ...request)).toEqual({ code, stdout, stderr });
    expect(await weir("explain", "-n", "empty", ...request)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no rules for the domain "api": there is none') as string,
    });
  });

  it("explain gives a domain to its oldest resource, and warns of the other", async () => {
    const late = { kind: "RateLimitConfig", apiVersion: WEIR, metadata: { name: "late", namespace: "empty" } };
    await cluster.apply(JSON.stringify({ ...late, spec: { domain: "api", descriptors: [{ key: "other" }] } }));
    const { code, stdout, stderr } = await kubectlWeir("explain", "-A", "--domain", "api", "-d", "new=1");
    expect([code, stdout.split("\n")[0]]).toEqual([0, "domain api (web/api spec.domain)"]);
    expect(stderr).toMatch(/^empty\/late spec\.domain: warning: domain 'api' belongs to web\/api .*: left out\n$/);
    await cluster.kubectl(["delete", "rlc", "late", "-n", "empty"]);
  });

  it("check --against cluster warns of live rules whose counts would start anew", async () => {
    const live = (unit: string): string =>
      JSON.stringify({
        kind: "RateLimitConfig",
        apiVersion: WEIR,
        metadata: { name: "counted", namespace: "web" },
        spec: { domain: "counted", descriptors: [{ key: "user", rateLimit: { unit, requestsPerUnit: 1 } }] },
      });
    await cluster.apply(live("day"));
    const file = join(cluster.folder, "counted.json");
    writeFileSync(file, live("hour"));
    const { code, stdout, stderr } = await kubectlWeir("check", "--against", "cluster", file);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(
      "spec.descriptors[0].rateLimit: warning: the counts of the live rule (web/counted spec.descriptors[0].rateLimit) start anew: 1 per day becomes 1 per hour\n",
    );
    expect(await weir("check", "--against", "cluster", "--context", "none", file)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^weir check: cannot compare with the live rules: Cannot .*none/) as string,
    });
    await cluster.kubectl(["delete", "rlc", "counted", "-n", "web"]);
  });

  it("explain names the right that the user lacks", async () => {
    await cluster.kubectl(["create", "serviceaccount", "reader", "-n", "web"]);
    const token = await cluster.tokenOf("reader", "web");
    const file = join(cluster.folder, "kubeconfig-reader");
    writeFileSync(file, cluster.kubeconfig({}, token));
    const explain = ["explain", "--kubeconfig", file, "-n", "web", "--domain", "api", "-d", "new=1"];
    expect(await weir(...explain)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^weir explain: Cannot list ratelimitconfigs.*\n$/) as string,
    });
    const rights = [
      "create",
      "role",
      "reader",
      "-n",
      "web",
      "--verb=list",
      "--resource=ratelimitconfigs.ratelimit.weir.dev",
    ];
    await cluster.kubectl(rights);
    await cluster.kubectl([
      "create",
      "rolebinding",
      "reader",
      "-n",
      "web",
      "--role=reader",
      "--serviceaccount=web:reader",
    ]);
    await eventually("the right", async () => expect(await weir(...explain)).toMatchObject({ code: 0, stderr: "" }));
  });

  it("explain takes what kubectl get prints", async () => {
    const { stdout: resources } = await cluster.kubectl(["get", "rlc", "-n", "web", "-o", "yaml"]);
    const file = join(cluster.folder, "resources.yaml");
    writeFileSync(file, resources);
    const { code, stdout, stderr } = await kubectlWeir("explain", "-f", file, "--domain", "api", "-d", "new=1");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("> new  taken: any value of this key (");
  });
});
