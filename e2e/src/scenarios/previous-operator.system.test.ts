// The operator of the previous version and that of this one, in one cluster with the roles and
// definitions of this one: operators and control planes are replaced under load, forward and back.
import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { isWrite } from "@weir/harness/kubernetes/audit-log";
import { BUILD_TIMEOUT_MS, buildPrevious } from "@weir/harness/weir/earlier-build";
import type { Envoy } from "@weir/harness/envoy/envoy";
import { manifestOf } from "@weir/harness/weir/weir";
import { Guide } from "@weir/harness/pages/guide";
import { type OperatorStack, startOperatorStack } from "@weir/harness/weir/operator-stack";
import type { Pod } from "@weir/harness/weir/pod";
import { ROOT } from "@weir/harness/processes/programs";
import { startRollingEnvoy } from "@weir/harness/pages/rolling-envoy";
import { startLoad } from "@weir/harness/weir/traffic";
import { startUpstream, type Upstream } from "@weir/harness/servers/upstream";

/** Time limit of a step, in milliseconds. */
const STEP_TIMEOUT_MS = 240_000;

/** Answers before and after a step. */
const LOAD_ANSWERS = 50;

/** The objects of one data plane, which the previous operator applies when it has listed them. */
const WORKLOAD = ["deployments", "networkpolicies", "poddisruptionbudgets", "serviceaccounts", "services"];

/** What it writes because limits change and because it reports. */
const REPORTS = /\/status$|^events$|^ratelimitconfigrevisions$/;

/** Secrets with certificates: of the authority, the operator, the control plane, and the data plane. */
const SECRETS = ["shop/weir-ratelimit-tls", "weir-system/weir-ca"].concat(
  ["control-plane", "operator"].map((program) => `weir-system/weir-${program}-tls`),
);

type Version = "previous" | "current";

describe("the operator of the previous version and of this one", () => {
  const roots: Record<Version, string> = { previous: "", current: ROOT };
  let stack: OperatorStack;
  let redis: StoreServer | undefined;
  let upstream: Upstream | undefined;
  let envoy: Envoy | undefined;
  let pods: readonly Pod[] = [];
  let limit = 10;

  beforeAll(async () => {
    roots.previous = await buildPrevious(process.env, "operator", "control-plane");
    stack = await startOperatorStack(roots.previous);
    const { folder } = stack.cluster;
    [redis, upstream] = [await startRedis(folder), await startUpstream()];
    const server = { type: "single", single: { address: redis.address }, commandTimeout: "20s" };
    await apply({
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitService",
      metadata: { name: "core" },
      spec: { replicas: 2, backend: { type: "redis", redis: server } },
    });
    await stack.kubectl(["wait", "--timeout=100s", "--for=condition=Available", "rls/core"]);
    const { selector } = fieldsOf((await get("rls", "core"))["status"]);
    const objects = mappingsOf((await get("pods", "-l", String(selector)))["items"]);
    pods = await Promise.all(objects.map((pod) => stack.kubelet.run(pod, stack.podEnv())));
    await applyLimit();
    const podPorts = pods.map(({ grpcPort }) => grpcPort);
    envoy = await startRollingEnvoy(new Guide("migrating.md"), {
      ...{ folder, domain: "mail", podPorts, upstreamPort: upstream.port },
    });
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    await envoy?.stop();
    for (const pod of pods) await pod.process.stop("SIGTERM", 5000);
    await upstream?.stop();
    await redis?.stop();
    await (stack as OperatorStack | undefined)?.stop(); // Not there when it did not start.
  });

  it.each([
    {
      step: "today's operators, yesterday's control planes",
      program: "operators",
      version: "current",
      mayApply: WORKLOAD,
    },
    { step: "today's control planes", program: "controlPlanes", version: "current", mayApply: [] },
    {
      step: "yesterday's operators, today's control planes",
      program: "operators",
      version: "previous",
      mayApply: WORKLOAD,
    },
  ] as const)(
    "$step: no failed request, owned objects untouched, statuses true",
    async ({ program, version, mayApply }) => {
      const owned = await ownedObjects();
      for (const secret of SECRETS) expect(owned.join("\n")).toContain(`Secret ${secret} `);
      const audited = stack.audit().length;
      const traffic = startLoad({ url: `${envoy!.url}/checkout`, user: program });
      try {
        await traffic.answers(LOAD_ANSWERS);
        // The leader last, so that for a time it works next to a standby of the other version.
        const leader = await stack.leader();
        const replicas = stack[program].toSorted((one, other) => Number(one === leader) - Number(other === leader));
        for (const replica of replicas) {
          await stack.replace(replica, roots[version]);
          await applyLimit();
        }
        await stack.kubectl(["wait", "--timeout=60s", "--for=condition=Ready", "rls/core"]);
        await traffic.answers(LOAD_ANSWERS);
      } finally {
        expect(await traffic.stop()).toEqual({});
      }
      const written = stack.audit().slice(audited).filter(isWrite);
      const applied = new Set(written.map(({ resource }) => resource).filter((resource) => !REPORTS.test(resource)));
      // These two versions make the same objects, so no application changes one.
      expect(mayApply).toEqual(expect.arrayContaining([...applied]));
      expect(await ownedObjects()).toEqual(owned);
    },
    STEP_TIMEOUT_MS,
  );

  it("needs no right that the roles of this version do not give", () => {
    expect(stack.audit().filter(({ status }) => status === 401 || status === 403)).toEqual([]);
  });

  /** Changes the limit, waits as a user does, and finds it in every pod. */
  async function applyLimit(): Promise<void> {
    limit += 1;
    const user = { key: "user", rateLimit: { unit: "year", requestsPerUnit: limit } };
    const rule = { key: "path", value: "/checkout", descriptors: [user] };
    await stack.kubectl(["apply", "-f", "-"], manifestOf("mail", "mail", [rule]));
    await stack.kubectl(["wait", "--timeout=60s", "--for=condition=Ready", "rlc/mail"]);
    // A pod that has lost its stream to a stopped control plane counts again when it is back.
    await stack.kubectl(["wait", "--timeout=60s", "--for=jsonpath={.status.pods.summary}=2/2", "rlc/mail"]);
    const { metadata, status } = await get("rlc", "mail");
    expect(fieldsOf(status)["observedGeneration"]).toBe(fieldsOf(metadata)["generation"]);
    const limits = pods.map((pod) => pod.limitOf("mail", { path: "/checkout", user: "probe" }));
    expect(await Promise.all(limits)).toEqual([limit, limit]);
  }

  /** Each owned object with the version of its content. */
  async function ownedObjects(): Promise<readonly string[]> {
    const kinds = [...WORKLOAD, "secrets"].join(",");
    const list = ["get", kinds, "-A", "-l", "app.kubernetes.io/managed-by=weir-operator", "--output=json"];
    const { stdout } = await stack.cluster.kubectl(list);
    return mappingsOf(fieldsOf(JSON.parse(stdout))["items"])
      .map(({ kind, metadata }) => {
        const { namespace, name, uid, generation, resourceVersion } = fieldsOf(metadata);
        // Statuses do not change the generation; kinds without one have no status that changes.
        const version = String(generation ?? resourceVersion);
        return `${String(kind)} ${String(namespace)}/${String(name)} ${String(uid)} ${version}`;
      })
      .toSorted();
  }

  async function apply(object: object): Promise<void> {
    await stack.kubectl(["apply", "-f", "-"], JSON.stringify(object));
  }

  async function get(...args: readonly string[]): Promise<Mapping> {
    return JSON.parse(await stack.kubectl(["get", ...args, "--output=json"])) as Mapping;
  }
});
