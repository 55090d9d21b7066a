// Other versions of Kubernetes than that of all other tests, with nodes that kwok plays: the charts, what the API server
// rejects, and the programs of this checkout under the accounts of the charts.
import { join } from "node:path";
import { ACCEPTED } from "@weir/crds/rate-limit-config/api-server/server-accepted.suite";
import { ruleAt } from "@weir/crds/rate-limit-config/api-server/server-case.suite";
import { refusalBy, shortRefusalBy } from "@weir/crds/rate-limit-config/api-server/server-dry-run.suite";
import { pathAt } from "@weir/crds/rate-limit-config/api-server/server-messages.suite";
import {
  REFUSED,
  REFUSED_AT_EVERY_LEVEL,
  REFUSED_OBJECTS,
} from "@weir/crds/rate-limit-config/api-server/server-refused.suite";
import { REFUSED_LIMITS } from "@weir/crds/rate-limit-config/api-server/server-refused-limits.suite";
import {
  ACCEPTED_SERVICES,
  REFUSED_SERVICES,
  serviceManifest,
} from "@weir/crds/rate-limit-service/api-server/service-case.suite";
import { CHARTS, helm } from "@weir/harness/helm/helm";
import {
  type KubernetesCluster,
  OTHER_VERSIONS,
  startKubernetesCluster,
} from "@weir/harness/kubernetes/kubernetes-cluster";
import { LimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { eventually } from "@weir/harness/processes/eventually";
import { type Pod, startPod } from "@weir/harness/weir/pod";
import { makeCertificates, startReplica } from "@weir/harness/weir/replica";
import { manifestOf, type Rule } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { applyEndpoints, machineAddress, SERVICE, startOperator } from "../benchmarks/operator/fixture.ts";

/** Pods that kwok plays make no Secrets. */
const EXTERNAL = [
  "certificates.source=external",
  "webhook.enabled=false",
  "rateLimitService.spec.controlPlane.certificateSecret=brought",
];

/** Rules that the API server accepts and the control plane does not: two with one counter. */
const TWINS: readonly Rule[] = [{ key: "user", value: "a" }, { key: "user_a" }];

/** So many requests of each user a year. */
const perUser = (requestsPerUnit: number): readonly Rule[] => [
  { key: "user", rateLimit: { unit: "year", requestsPerUnit } },
];

/** How long a program may take to stop, in milliseconds. */
const STOP_GRACE_MS = 30_000;

describe.each(OTHER_VERSIONS)("Kubernetes %s", (version) => {
  let cluster: KubernetesCluster;

  beforeAll(async () => {
    cluster = await startKubernetesCluster({ full: true, version });
    await cluster.createNamespaces("weir-system", "shop");
    await install("weir-crds");
    await install("weir", ...EXTERNAL.flatMap((value) => ["--set", value]));
  });

  afterAll(async () => {
    await (cluster as typeof cluster | undefined)?.stop(); // Not there when it did not start.
  });

  /** Installs a chart with Helm 3, which waits for its pods. */
  async function install(chart: string, ...args: readonly string[]): Promise<void> {
    const place = ["--namespace", "weir-system", "--kubeconfig", cluster.kubeconfigPath];
    const wait = ["--wait", "--timeout", "3m"];
    const { code, stderr } = await helm(["install", chart, join(CHARTS, chart), ...args, ...wait, ...place]);
    expect({ chart, code }, stderr).toEqual({ chart, code: 0 });
  }

  /** A refusal of the usual version in the words of this one. */
  function worded(refusal: string): string {
    if (version === "1.31")
      return refusal.replace(/(?<=: Too long: may not be )more than (\d+) bytes/, "longer than $1");
    return refusal.replace(/map\[string\]interface \{\}(\{.*\})/, (_, fields: string) =>
      fields.replaceAll('", "', '","'),
    );
  }

  it("is what the API server reports, and runs the pods of the chart", async () => {
    const { gitVersion } = JSON.parse(await cluster.run(["get", "--raw", "/version"])) as { gitVersion: string };
    expect(gitVersion).toMatch(new RegExp(String.raw`^v${version}\.\d+$`));
    const path = "jsonpath={range .items[*]}{.metadata.name} {.status.readyReplicas},{end}";
    expect(await cluster.run(["get", "deployments", "-n", "weir-system", "-o", path])).toBe(
      "weir-control-plane 2,weir-operator 2,",
    );
  });

  it.each(ACCEPTED)("accepts %s", async (_, text) => {
    expect(await shortRefusalBy(cluster.api, text)).toBeUndefined();
  });

  it.each([...REFUSED, ...REFUSED_OBJECTS, ...REFUSED_LIMITS])("refuses %s", async (_, text, refusal) => {
    expect(await shortRefusalBy(cluster.api, text)).toBe(worded(refusal));
  });

  it.each(REFUSED_AT_EVERY_LEVEL)("names field and reason of %s at every level", async (_, fields, refusal) => {
    for (const level of [1, 2, 3, 4, 5, 6])
      expect(await shortRefusalBy(cluster.api, ruleAt(level, fields))).toBe(refusal.replaceAll("RULE", pathAt(level)));
  });

  it.each(ACCEPTED_SERVICES)("accepts a RateLimitService with %s", async (_, spec) => {
    expect(await refusalBy(cluster.api, serviceManifest(spec), "ratelimitservices")).toBeUndefined();
  });

  it.each(REFUSED_SERVICES)("refuses a RateLimitService with %s", async (_, spec, refusal) => {
    expect(await refusalBy(cluster.api, serviceManifest(spec), "ratelimitservices")).toContain(worded(refusal));
  });

  describe("with the control plane and the operator of this checkout", () => {
    let pod: Pod;
    const stops: (() => Promise<unknown>)[] = [];

    beforeAll(async () => {
      // In the place of the chart's pods, which kwok plays: at their Service, with their accounts and rights.
      await cluster.run(["scale", "deployment", "--all", "--replicas=0", "-n", "weir-system"]);
      await cluster.run(["wait", "--for=delete", "pod", "--all", "-n", "weir-system", "--timeout=60s"]);
      const address = machineAddress();
      const certificates = await makeCertificates(cluster.folder, address, `${SERVICE}.weir-system.svc`);
      const limits = new LimitsCluster(cluster);
      const kubeconfigOf = async (account: string): Promise<string> => {
        const path = join(cluster.folder, account);
        await limits.writeKubeconfig(path, undefined, account);
        return path;
      };
      const replica = await startReplica(
        { certificates, manifests: "" },
        { SOURCE: "kubernetes", KUBECONFIG: await kubeconfigOf("weir-control-plane"), ADS_HOST: address },
      );
      stops.push(() => replica.process.stop("SIGTERM", STOP_GRACE_MS));
      await applyEndpoints(cluster, address, [{ adsPort: replica.adsPort, isReady: true }]);
      const operator = await startOperator(certificates, await kubeconfigOf("weir-operator"));
      stops.push(() => operator.stop("SIGTERM", STOP_GRACE_MS));
      const env = {
        CONFIG_GRPC_XDS_SERVER_URL: `${address}:${replica.adsPort}`,
        CONFIG_GRPC_XDS_NODE_ID: "edge/pod",
      };
      await apply("mail", perUser(2)); // A pod without rules is not ready.
      pod = await startPod({ certificates, ports: replica.ports }, env);
      stops.push(() => pod.process.stop("SIGTERM", STOP_GRACE_MS));
    });

    afterAll(async () => {
      for (const stop of stops.toReversed()) await stop();
    });

    /** Applies a RateLimitConfig of the pod's fleet as users do. */
    async function apply(name: string, rules: readonly Rule[]): Promise<void> {
      await cluster.run(["apply", "-f", "-"], manifestOf(name, name, rules, { namespace: "shop", fleets: ["edge"] }));
    }

    async function expectConditions(object: string, namespace: string, expected: object): Promise<void> {
      const path = String.raw`jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}{"\n"}{end}`;
      await eventually(`the conditions of ${object}`, async () => {
        const lines = (await cluster.run(["get", object, "-n", namespace, "-o", path])).trim().split("\n");
        expect(Object.fromEntries(lines.map((line) => line.split("=")))).toMatchObject(expected);
      });
    }

    it("enforces a limit and its edit, reports both, and keeps a revision", async () => {
      await expectConditions("rlc/mail", "shop", {
        Accepted: "True Valid",
        Programmed: "True Programmed",
        Ready: "True Ready",
      });
      expect(await pod.askThrice("mail", "ada")).toEqual([200, 200, 429]);
      await apply("mail", perUser(7));
      await eventually("the edit", async () => expect(await pod.limitOf("mail", { user: "bob" })).toBe(7));
      await eventually("a revision", async () =>
        expect(await cluster.run(["get", "rlcr", "-n", "shop", "-o", "name"])).toContain("/mail"),
      );
      await cluster.run(["delete", "rlc", "mail", "-n", "shop"]);
      await eventually("no limit", async () => expect(await pod.limitOf("mail", { user: "bob" })).toBeUndefined());
    });

    it("reports rules that only the control plane rejects", async () => {
      await apply("twins", TWINS);
      await expectConditions("rlc/twins", "shop", { Accepted: "False InvalidSpec", Programmed: "False NotAccepted" });
    });

    it("makes ready pods of the RateLimitService of the chart", async () => {
      await expectConditions("rls/ratelimit", "weir-system", { Available: "True PodsReady" });
      const path = "jsonpath={.status.readyReplicas} {.metadata.ownerReferences[0].kind}";
      expect(await cluster.run(["get", "deployment", "ratelimit", "-n", "weir-system", "-o", path])).toBe(
        "1 RateLimitService",
      );
    });
  });
});
