// The product from outside: installed in a real cluster, limits applied with kubectl, traffic through a real Envoy
// limited to the number. Each test applies the limits of its own paths.
import { join } from "node:path";
import { isAdmitted, type PolicyPod, policyPodOf } from "@weir/harness/helm/network-policies";
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

import type { Rule } from "@weir/harness/weir/weir";
import { ROOT } from "@weir/harness/processes/programs";
import { NodeAccess, SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { DOMAIN, perPath, podUrl, POD_COUNT, type Product, SHOP, startProduct } from "@weir/harness/node/product";
import { startTraffic, type Traffic } from "@weir/harness/weir/traffic";

/** Edits under load. */
const EDITS = 4;

/** Limits as large that traffic of this test stays below. */
const LARGE = 1_000_000;

describe("the installed product", () => {
  let product: Product;

  beforeAll(async () => {
    product = await startProduct(new NodeAccess(inject("node")));
  });

  afterAll(async () => {
    await (product as Product | undefined)?.stop(); // Not there when it did not start.
  });

  it("runs two operators, two control planes and three rate limit pods, none of which was restarted", async () => {
    const [two, three] = [2, POD_COUNT].map((count) => Array<string>(count).fill("true 0"));
    const { node } = product;
    // The first limited request needs one of each program.
    await eventually("all pods to be ready", async () => {
      const kinds = [node.pods("weir-operator"), node.pods("weir-control-plane"), product.rateLimitPods()];
      const programs = (await Promise.all(kinds)).map((each) =>
        each.map(({ isReady, restarts }) => `${isReady} ${restarts}`),
      );
      expect(programs).toEqual([two, two, three]);
    });
  });

  it("passes helm test: a stream over mutual TLS, as a probe, and a decision", async () => {
    const ready = ["wait", "--for=condition=Ready", "rls/ratelimit", "-n", SYSTEM_NAMESPACE, "--timeout=100s"];
    await product.node.kubectl(ready);
    const output = await product.node.helm("test", "weir");
    const succeeded = [...output.matchAll(/TEST SUITE:\s+(\S+)[^]*?Phase:\s+(\S+)/g)].map(([, ...found]) => found);
    expect(succeeded).toEqual([
      ["weir-test-decision", "Succeeded"],
      ["weir-test-stream", "Succeeded"],
    ]);
    const logOf = async (name: string): Promise<string> =>
      await product.node.kubectl(["logs", "-n", SYSTEM_NAMESPACE, `pod/${name}`]);
    expect(await logOf("weir-test-decision")).toContain("OK");
    // The lines that docs/discovery.md shows, after those of attempts that failed.
    expect((await logOf("weir-test-stream")).trim().split("\n")).toEqual(
      expect.arrayContaining([
        // Other tests have resources on this node.
        expect.stringMatching(/^weir-control-plane\.weir-system\.svc:18000 sent version [0-9a-f]{32}, resources: \d+$/),
        "shop/first",
        "shop/limits",
      ]),
    );
    await eventually("the log of the control plane", async () => {
      const logs = (await product.node.pods("weir-control-plane")).map(async (pod) => await product.node.logs(pod));
      const lines = (await Promise.all(logs)).join("\n").split("\n");
      const logged = lines.filter((line) => line.includes('"weir-system/weir-test-stream"'));
      expect(logged.find((line) => line.includes("Pod ACKed snapshot"))).toBeDefined();
      expect(logged.find((line) => line.includes('"isProbe":true'))).toBeDefined();
    });
  });

  it("is admitted by its NetworkPolicies, and others are not", async () => {
    const peer = (name: string) => [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } } }];
    const networkPolicy = { enabled: true, metricsFrom: peer("monitoring"), podsFrom: peer(SHOP) };
    const set = ["--reuse-values", "--set-json", `networkPolicy=${JSON.stringify(networkPolicy)}`];
    await product.node.helm("upgrade", "weir", join(ROOT, "charts/weir"), ...set);
    const list = async (kind: string): Promise<readonly Mapping[]> =>
      mappingsOf(fieldsOf(JSON.parse(await product.node.kubectl(["get", kind, "-A", "-o", "json"])))["items"]);
    const policies = await list("networkpolicies");
    for (const { spec } of policies) expect(fieldsOf(spec)["policyTypes"]).toEqual(["Ingress"]); // DNS, stores, API server.
    const pods = (await list("pods")).map((pod) => policyPodOf(pod));
    const find = (name: string, namespace = SYSTEM_NAMESPACE): PolicyPod =>
      pods.find((pod) => pod.labels["app.kubernetes.io/name"] === name && pod.namespace === namespace)!;
    const [operator, controlPlane, own] = ["weir-operator", "weir-control-plane", "weir-ratelimit"].map((name) =>
      find(name),
    );
    const [test, shop] = [find("weir-test"), find("weir-ratelimit", SHOP)];
    const envoy = { namespace: SHOP, labels: {} };
    const prometheus = { namespace: "monitoring", labels: {} };
    const stranger = { namespace: "other", labels: {} };
    const table: readonly (readonly [string, PolicyPod, PolicyPod, number, boolean])[] = [
      ["data plane of the release to ADS", own!, controlPlane!, 18_000, true],
      ["data plane of a team to ADS", shop, controlPlane!, 18_000, true],
      ["operator to the reports of the control plane", operator!, controlPlane!, 18_000, true],
      ["helm test to ADS", test, controlPlane!, 18_000, true],
      ["helm test to a decision", test, own!, 8081, true],
      ["Envoy to a decision", envoy, shop, 8081, true],
      ["Prometheus to the control plane", prometheus, controlPlane!, 8090, true],
      ["Prometheus to the operator", prometheus, operator!, 8091, true],
      ["API server to the webhook", stranger, operator!, 9443, true],
      ["another namespace to ADS", stranger, controlPlane!, 18_000, false],
      ["another namespace to metrics", stranger, controlPlane!, 8090, false],
      ["another namespace to the debug port", stranger, shop, 6070, false],
      ["Envoy to metrics of the operator", envoy, operator!, 8091, false],
    ];
    const decided = table.map(([what, from, to, port]) => [what, isAdmitted(policies, from, to, port)]);
    expect(decided).toEqual(table.map(([what, , , , isRight]) => [what, isRight]));
  });

  it("limits simultaneous traffic over all pods to the number", async () => {
    await product.applyLimits([perPath("/cart", 10)]);
    expect(await product.getMany("/cart", "ann", 30)).toEqual({ 200: 10, 429: 20 });
    expect(product.upstream.requestsOf("ann")).toBe(10);
    const asked = await Promise.all(
      (await product.rateLimitPods()).map((pod) => counter(podUrl(pod), "path_/cart.user", "total_hits")),
    );
    expect(asked.reduce((sum, hits) => sum + hits)).toBe(30);
    expect(Math.min(...asked)).toBeGreaterThan(0);
  });

  it("counts each value by itself", async () => {
    const vip = { key: "user", value: "vip", rateLimit: { unit: "year", requestsPerUnit: 5 } };
    const any = { key: "user", rateLimit: { unit: "year", requestsPerUnit: 2 } };
    await product.applyLimits([{ key: "path", value: "/search", descriptors: [vip, any] }]);
    const users = ["bob", "cid", "vip"];
    const counts = await Promise.all(users.map((user) => product.getMany("/search", user, 8)));
    expect(counts).toEqual([
      { 200: 2, 429: 6 },
      { 200: 2, 429: 6 },
      { 200: 5, 429: 3 },
    ]);
  });

  it("forwards and counts what is over a limit in shadow mode", async () => {
    const rule: Rule = { key: "user", shadowMode: true, rateLimit: { unit: "year", requestsPerUnit: 3 } };
    await product.applyLimits([{ key: "path", value: "/shadow", descriptors: [rule] }]);
    expect(await product.getMany("/shadow", "dan", 8)).toEqual({ 200: 8 });
    const counts = await Promise.all(
      (await product.rateLimitPods()).map((pod) => counter(podUrl(pod), "path_/shadow.user", "shadow_mode")),
    );
    expect(counts.reduce((sum, count) => sum + count)).toBe(5);
  });

  it("answers with the limit, what is left of it, and when it ends", async () => {
    await product.applyLimits([perPath("/headers", 2)]);
    const answers: Response[] = [];
    for (let sent = 0; sent < 3; sent += 1) answers.push(await product.get("/headers", "eve"));
    const headersOf = (name: string) => answers.map(({ headers }) => headers.get(name));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(headersOf("ratelimit-limit")[0]).toContain("2");
    expect(headersOf("ratelimit-remaining")).toEqual(["1", "0", "0"]);
    const resets = headersOf("ratelimit-reset").map(Number);
    expect(Math.min(...resets)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...resets)).toBeLessThanOrEqual(366 * 86_400);
  });

  it("limits nothing by an unlimited rule, nor without a rule", async () => {
    await product.applyLimits([
      {
        key: "path",
        value: "/free",
        descriptors: [
          { key: "user", value: "fay", rateLimit: { unlimited: true } },
          { key: "user", rateLimit: { unit: "year", requestsPerUnit: 1 } },
        ],
      },
    ]);
    expect(await product.getMany("/free", "fay", 10)).toEqual({ 200: 10 });
    expect(await product.getMany("/free", "gil", 10)).toEqual({ 200: 1, 429: 9 });
    expect(await product.getMany("/unknown", "gil", 10)).toEqual({ 200: 10 });
  });

  it("applies the limit that replaces another in place of it", async () => {
    const named = (name: string, requestsPerUnit: number) => ({ unit: "year", requestsPerUnit, name });
    await product.applyLimits([
      { key: "path", value: "/replaced", rateLimit: named("everyone", 1) },
      { key: "plan", value: "gold", rateLimit: { ...named("gold", 4), replaces: [{ name: "everyone" }] } },
    ]);
    const ask = async (...descriptors: readonly object[]): Promise<number> => {
      const [pod] = await product.rateLimitPods();
      const response = await fetch(`${podUrl(pod!)}/json`, {
        method: "POST",
        body: JSON.stringify({ domain: DOMAIN, descriptors }),
      });
      await response.body?.cancel();
      return response.status;
    };
    const everyone = { entries: [{ key: "path", value: "/replaced" }] };
    const gold = { entries: [{ key: "plan", value: "gold" }] };
    const codes: number[] = [];
    for (let sent = 0; sent < 5; sent += 1) codes.push(await ask(everyone, gold));
    expect(codes).toEqual([200, 200, 200, 200, 429]);
    expect([await ask(everyone), await ask(everyone)]).toEqual([200, 429]);
  });

  it("brings an edit to every pod before kubectl wait returns, without one failed request under load", async () => {
    const rules = (requestsPerUnit: number) => [perPath("/open", requestsPerUnit), perPath("/closed", 1)];
    await product.applyLimits(rules(LARGE));
    const traffic = await startHalves();
    const seen: unknown[] = [];
    for (let edit = 1; edit <= EDITS; edit += 1) {
      await product.applyLimits(rules(LARGE + edit));
      seen.push(await Promise.all((await product.rateLimitPods()).map((pod) => limitOf(podUrl(pod), "/open"))));
    }
    await expectNothingLost(traffic);
    expect(seen).toEqual(Array.from({ length: EDITS }, (_, index) => Array<number>(POD_COUNT).fill(LARGE + index + 1)));
  });

  it("drains a pod that is scaled away without one failed request under load", async () => {
    await product.applyLimits([perPath("/open", LARGE), perPath("/closed", 1)]);
    const traffic = await startHalves();
    const before = await product.rateLimitPods();
    await product.kubectl("scale", "rls", "core", `--replicas=${POD_COUNT - 1}`);
    const left = await eventually("one pod to end", async () => {
      const pods = await product.rateLimitPods();
      expect(pods).toHaveLength(POD_COUNT - 1);
      return pods;
    });
    const ended = before.find(({ name }) => left.every((pod) => pod.name !== name))!;
    await product.kubectl("wait", "--for=delete", `pod/${ended.name}`, "--timeout=60s");
    await expectNothingLost(traffic);
    // The kubelet reports containers that it had to kill after their grace time.
    const events = await product.kubectl(
      "get",
      "events",
      "-o",
      "name",
      `--field-selector=involvedObject.name=${ended.name},reason=FailedKillPod`,
    );
    expect(events).toBe("");
    await product.kubectl("wait", "--for=condition=Ready", "rls/core", "--timeout=60s");
  });

  /** Traffic that is within its limit, and as much that is over it. */
  async function startHalves(): Promise<Traffic> {
    await eventually("the limit", async () => expect((await product.get("/closed", "hal")).status).toBe(429));
    return startTraffic(product.envoy.url, [
      { path: "/open", user: "hal", right: 200 },
      { path: "/closed", user: "hal", right: 429 },
    ]);
  }

  async function expectNothingLost(traffic: Traffic): Promise<void> {
    await traffic.stop();
    const losses = traffic.take();
    expect(losses).toMatchObject({ failed: 0, wronglyAllowed: 0, wronglyDenied: 0 });
    expect(losses.requests).toBeGreaterThan(EDITS);
    // Envoy lists a counter once it has counted: there is neither an error nor an allowed failure.
    expect(Object.keys(await product.envoy.rateLimitCounters()).toSorted()).toEqual(["ok", "over_limit"]);
  }
});

/** A counter of a rule on one pod. */
async function counter(url: string, rule: string, name: string): Promise<number> {
  const text = await (await fetch(`${url.replace(":8080", ":6070")}/stats`)).text();
  const line = text
    .split("\n")
    .find((each) => each.startsWith(`ratelimit.service.rate_limit.${DOMAIN}.${rule}.${name}: `));
  return Number(line?.split(": ")[1] ?? 0);
}

/** The limit that one pod applies to a path. */
async function limitOf(url: string, path: string, domain = DOMAIN): Promise<unknown> {
  const entries = [
    { key: "path", value: path },
    { key: "user", value: "probe" },
  ];
  const response = await fetch(`${url}/json`, {
    method: "POST",
    body: JSON.stringify({ domain, descriptors: [{ entries }] }),
  });
  const { statuses } = (await response.json()) as { readonly statuses: readonly { readonly currentLimit?: unknown }[] };
  return fieldsOf(statuses[0]?.currentLimit)["requestsPerUnit"];
}
