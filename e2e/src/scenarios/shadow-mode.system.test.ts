// The switch for an emergency: `kubectl weir shadow` → API server → control plane → pods of Weir and of
// envoyproxy/ratelimit, and what tools that apply resources from Git make of it (docs/operations.md, docs/troubleshooting.md).
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";

import { type LimitsCluster, startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { eventually } from "@weir/harness/processes/eventually";
import { ROOT } from "@weir/harness/processes/programs";
import { type ProgramResult, runToEnd } from "@weir/harness/processes/run-to-end";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startEnvoyRatelimit } from "@weir/harness/servers/envoy-ratelimit";
import type { ListeningService } from "@weir/harness/servers/listening-service";
import { RateLimitClient } from "@weir/harness/servers/rate-limit-client";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import type { Pod } from "@weir/harness/weir/pod";
import { startWeir, type Weir } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

/** Longest time from the command to the decisions of every pod, in milliseconds. */
const ACTIVE_MS = 2000;

const LABEL = "ratelimit.weir.dev/protected";
const OVER_LIMIT = 2;
const OK = 1;

/** A limit of no request, so that each one is rejected unless it is in shadow mode. */
function config(name: string, spec: object = {}, labels: Readonly<Record<string, string>> = {}): string {
  const descriptors = [{ key: "user", rateLimit: { unit: "day", requestsPerUnit: 0 } }];
  return stringify({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata: { name, namespace: "shop", labels },
    spec: { domain: name, descriptors, ...spec },
  });
}

describe("weir shadow", () => {
  const folder = makeTemporaryFolder();
  let limits: LimitsCluster;
  let flow: Weir;
  let pod: Pod;
  let redis: StoreServer;
  let published: ListeningService;
  let client: RateLimitClient;

  beforeAll(async () => {
    limits = await startLimitsCluster();
    await limits.cluster.run(["apply", "-f", "-"], config("mail"));
    flow = await startWeir(folder.path, { cluster: limits });
    pod = await flow.startPod();
    redis = await startRedis(folder.path);
    const { ca, rateLimit } = flow.certificates;
    published = await startEnvoyRatelimit({
      folder: folder.path,
      env: {
        REDIS_SOCKET_TYPE: "tcp",
        REDIS_URL: redis.address,
        CONFIG_TYPE: "GRPC_XDS_SOTW",
        CONFIG_GRPC_XDS_NODE_ID: "shop/published",
        CONFIG_GRPC_XDS_SERVER_URL: `localhost:${flow.controlPlane.adsPort}`,
        CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
        CONFIG_GRPC_XDS_SERVER_TLS_CACERT: ca.cert,
        CONFIG_GRPC_XDS_CLIENT_TLS_CERT: rateLimit.cert,
        CONFIG_GRPC_XDS_CLIENT_TLS_KEY: rateLimit.key,
      },
    });
    client = new RateLimitClient(`127.0.0.1:${published.grpcPort}`);
  });

  afterAll(async () => {
    client.close();
    await published.process.stop("SIGTERM", 5000);
    await redis.stop();
    await flow.stop();
    await limits.stop();
    folder.remove();
  });

  beforeEach(async () => {
    await limits.cluster.run(["delete", "rlc", "--all", "-n", "shop"]);
    await apply(config("mail"));
    await eventually("the limit", () => expectAll("mail", "limited"), 30_000);
  });

  async function apply(...manifests: readonly string[]): Promise<void> {
    await limits.cluster.run(["apply", "-f", "-"], manifests.join("---\n"));
  }

  async function shadow(...args: readonly string[]): Promise<ProgramResult> {
    const flags = args.includes("--kubeconfig") ? [] : ["--kubeconfig", limits.cluster.kubeconfigPath];
    const program = ["--conditions=source", join(ROOT, "cli/src/main.ts"), "shadow"];
    return await runToEnd(process.execPath, [...program, ...args, ...flags]);
  }

  /** Checks the decisions of both pods about one request of a domain. */
  async function expectAll(domain: string, expected: "limited" | "allowed"): Promise<void> {
    const descriptors = [{ entries: [{ key: "user", value: "ada" }] }];
    const { overallCode } = await client.call({ domain, descriptors });
    const { code } = await pod.decide(domain, { user: "ada" });
    expect([code, overallCode]).toEqual([expected, expected === "limited" ? OVER_LIMIT : OK]);
  }

  async function switchOf(name: string): Promise<string> {
    const path = "jsonpath={.spec.shadowMode}";
    return await limits.cluster.run(["get", "rlc", name, "-n", "shop", "-o", path]);
  }

  it("on lets every pod allow what it limited within two seconds, and off limits again", async () => {
    const on = await shadow("on", "mail", "-n", "shop");
    expect(on).toEqual({ code: 0, stdout: "[1/1] shop/mail: shadow mode on\n", stderr: "" });
    await eventually("no limit", () => expectAll("mail", "allowed"), ACTIVE_MS);
    expect(await limits.cluster.run(["get", "rlc", "-n", "shop"])).toMatch(/^NAME .* SHADOW .*\nmail .* true .*$/m);
    expect((await shadow("on", "mail", "-n", "shop")).stdout).toBe("[1/1] shop/mail: already on\n");
    const off = await shadow("off", "mail", "-n", "shop");
    expect(off).toEqual({ code: 0, stdout: "[1/1] shop/mail: shadow mode off\n", stderr: "" });
    await eventually("the limit", () => expectAll("mail", "limited"), ACTIVE_MS);
    // As in Git again.
    expect(await switchOf("mail")).toBe("");
  });

  it("on lets pods allow what an earlier revision limits, while the present one is invalid", async () => {
    const twins = [{ key: "user", value: "a" }, { key: "user_a" }];
    await apply(config("mail", { descriptors: twins }));
    await eventually("the mistake", async () => expect((await flow.status()).troubles).toHaveLength(1));
    await expectAll("mail", "limited");
    expect(await shadow("on", "mail", "-n", "shop")).toMatchObject({ code: 0 });
    await eventually("no limit", () => expectAll("mail", "allowed"), ACTIVE_MS);
  });

  it("--all skips what is protected, names each resource, and reports those that do not exist", async () => {
    await apply(config("account", {}, { [LABEL]: "true" }), config("search", {}, { [LABEL]: "false" }));
    expect(await shadow("on", "--all", "-A")).toEqual({
      code: 0,
      stdout: [
        `[1/3] shop/account: skipped: it has the label ${LABEL}; --protected includes it`,
        "[2/3] shop/mail: shadow mode on",
        "[3/3] shop/search: shadow mode on",
        "3 RateLimitConfigs in all namespaces, 1 skipped, 2 as wanted\n",
      ].join("\n"),
      stderr: "",
    });
    expect(await Promise.all(["account", "mail", "search"].map(switchOf))).toEqual(["", "true", "true"]);
    expect(await shadow("on", "--all", "-n", "shop", "--protected")).toMatchObject({ code: 0 });
    expect(await switchOf("account")).toBe("true");
    expect(await shadow("off", "none", "mail", "-n", "shop")).toEqual({
      code: 1,
      stdout: "[1/1] shop/mail: shadow mode off\n",
      stderr: "weir shadow: there is no RateLimitConfig none in the namespace shop\n",
    });
  });

  it.each([
    { tool: "kubectl apply", args: ["apply", "-f", "-"] },
    {
      tool: "Flux, and Argo CD with server-side apply",
      args: ["apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller", "-f", "-"],
    },
  ])("$tool leaves the switch as it is, unless what it applies has the field", async ({ args }) => {
    const reconcile = (spec: object) => limits.cluster.run(args, config("mail", spec));
    await reconcile({});
    await shadow("on", "mail", "-n", "shop");
    await reconcile({});
    expect(await switchOf("mail")).toBe("true");
    await reconcile({ shadowMode: false });
    expect(await switchOf("mail")).toBe("false");
    const { stdout } = await shadow("on", "mail", "-n", "shop");
    expect(stdout).toMatch(/shadow mode on; \S+ had set spec\.shadowMode and may set it again/);
    expect(await switchOf("mail")).toBe("true");
  });

  it("needs the rights of the page and no others", async () => {
    const page = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
    const role = /```yaml\n(apiVersion: rbac[^`]*)```/.exec(page)?.[1] ?? "";
    const { cluster } = limits;
    await cluster.run(["apply", "-f", "-"], role);
    await cluster.run(["create", "serviceaccount", "on-call", "-n", "shop"]);
    const binding = ["--clusterrole=weir-shadow", "--serviceaccount=shop:on-call"];
    await cluster.run(["create", "clusterrolebinding", "weir-shadow", ...binding]);
    const kubeconfig = join(folder.path, "on-call");
    writeFileSync(kubeconfig, cluster.kubeconfig({}, await cluster.tokenOf("on-call", "shop")), { mode: 0o600 });
    expect(await shadow("on", "--all", "-A", "--kubeconfig", kubeconfig)).toMatchObject({ code: 0, stderr: "" });
    expect(await shadow("off", "mail", "-n", "shop", "--kubeconfig", kubeconfig)).toMatchObject({ code: 0 });
    await cluster.run(["delete", "clusterrolebinding", "weir-shadow"]);
    await eventually("the missing right", async () => {
      const refused = await shadow("on", "--all", "-A", "--kubeconfig", kubeconfig);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot list resource") as string });
    });
  });

  it("off switches off what another manager has switched on, and names it", async () => {
    await apply(config("mail", { shadowMode: true }));
    const { stdout } = await shadow("off", "mail", "-n", "shop");
    expect(stdout).toMatch(/shadow mode off; \S+ had set spec\.shadowMode and may set it again/);
    expect(await switchOf("mail")).toBe("false");
  });
});
