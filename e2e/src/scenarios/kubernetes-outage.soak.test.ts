// An API server that is down for a minute: real pods keep every limit meanwhile.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "@weir/testing/eventually";
import type { KubernetesCluster } from "@weir/testing/kubernetes/kubernetes-cluster";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Flow, manifestOf, startFlow } from "../parts/flow.ts";
import { type LimitsCluster, startLimitsCluster } from "../parts/limits-cluster.ts";
import type { Pod } from "../parts/pod.ts";

/** Longest wait for the end of an outage's effects, in milliseconds. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** Longest time of the test of a long outage besides that outage, in milliseconds. */
const OUTAGE_TEST_MS = 240_000;

/** How long the API server is down at least, in milliseconds. */
const OUTAGE_MS = 60_000;

describe("the configuration flow from Kubernetes in a long outage", () => {
  const folder = makeTemporaryFolder();
  const stops: (() => Promise<void> | void)[] = [() => folder.remove()];
  let limits: LimitsCluster;
  let cluster: KubernetesCluster;
  let flow: Flow;
  let pod: Pod;

  beforeAll(async () => {
    limits = await startLimitsCluster();
    stops.push(() => limits.stop());
    cluster = limits.cluster;
    await apply("mail", 2);
    const env = { SOURCE: "kubernetes", SOURCE_DIRECTORY: "", KUBECONFIG: join(folder.path, "kubeconfig") };
    await limits.writeKubeconfig(env.KUBECONFIG);
    flow = await startFlow(folder.path, {}, { controlPlaneEnv: env });
    stops.push(() => flow.stop());
    pod = await flow.startPod();
  });

  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  it(
    "keeps every limit while the API server is down for a minute, sends them to new pods, and enforces new ones afterwards",
    { timeout: OUTAGE_MS + OUTAGE_TEST_MS },
    async () => {
      const questions = pod.keepAsking("mail");
      await cluster.killApiServer();
      const backMs = performance.now() + OUTAGE_MS;
      expect(await askThrice("away")).toEqual([200, 200, 429]);
      const second = await flow.startPod({ CONFIG_GRPC_XDS_NODE_ID: "default/second" });
      expect(await limitOf("mail", second)).toBe(2);
      await delay(Math.max(0, backMs - performance.now()));
      await cluster.startApiServer();
      await apply("mail", 7);
      for (const each of [pod, second]) {
        await eventually(
          "the changed limit to be active",
          async () => expect(await limitOf("mail", each)).toBe(7),
          RECOVERY_TIMEOUT_MS,
        );
      }
      expect(await questions.end()).toBe("2 → 7");
      await second.process.stop("SIGTERM", 30_000);
    },
  );

  async function apply(name: string, requestsPerUnit: number): Promise<void> {
    const text = manifestOf(name, name, [{ key: "user", rateLimit: { unit: "day", requestsPerUnit } }]);
    const { code, stderr } = await cluster.kubectl(["apply", "--namespace=shop", "-f", "-"], text);
    expect(code, stderr).toBe(0);
  }

  async function askThrice(user: string): Promise<readonly number[]> {
    return [await pod.ask("mail", { user }), await pod.ask("mail", { user }), await pod.ask("mail", { user })];
  }

  function limitOf(domain: string, of = pod): Promise<number | undefined> {
    return of.limitOf(domain, { user: "probe" });
  }
});
