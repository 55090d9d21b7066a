// The configuration flow from a real Kubernetes API server: kubectl → API server → control plane
// under its own account → mutual TLS → real pods.
import { eventually } from "@weir/harness/processes/eventually";
import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LimitsCluster, startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { Pod } from "@weir/harness/weir/pod";
import { limitManifest, manifestOf, startWeir, type Weir } from "@weir/harness/weir/weir";
import { watchRolloutApi } from "@weir/harness/weir/replica";

/** Longest wait for the end of an outage's effects, in milliseconds. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** The user whose limit is looked up. */
const PROBE = { user: "probe" };

describe("the configuration flow from Kubernetes", () => {
  const folder = makeTemporaryFolder();
  let limits: LimitsCluster;
  let flow: Weir;
  let pod: Pod;
  let cluster: KubernetesCluster;

  beforeAll(async () => {
    limits = await startLimitsCluster();
    // By the manager that changes it in tests: an apply removes no rules of another manager.
    await limits.apply("mail", limitManifest("mail", 2));
    flow = await startWeir(folder.path, { cluster: limits });
    pod = await flow.startPod();
    ({ cluster } = limits);
  });

  afterAll(async () => {
    await flow.stop();
    await limits.stop();
    folder.remove();
  });

  it("enforces the resources that exist before the start", async () => {
    expect(await pod.askThrice("mail", "before")).toEqual([200, 200, 429]);
  });

  it("enforces what kubectl applies, changes and deletes", async () => {
    const untilLimit = (limit: number | undefined): Promise<void> =>
      eventually(`the limit to be ${limit}`, async () => expect(await pod.limitOf("search", PROBE)).toBe(limit));
    await limits.kubectlApply(limitManifest("search", 3));
    await untilLimit(3);
    await limits.kubectlApply(limitManifest("search", 4));
    await untilLimit(4);
    expect(await cluster.kubectl(["delete", "rlc", "search", "--namespace=shop"])).toMatchObject({ code: 0 });
    await untilLimit(undefined);
  });

  it("keeps the last good revision of a resource that the schema accepts and the control plane does not, and others continue", async () => {
    const twins = [{ key: "user", value: "a" }, { key: "user_a" }];
    const questions = pod.keepAsking("mail");
    await limits.apply("mail", manifestOf("mail", "mail", twins));
    await eventually("the mistake to be reported", async () => {
      expect((await flow.status()).troubles).toMatchObject([
        {
          field: "spec.descriptors[1].key",
          message: expect.stringContaining("duplicate descriptor composite key 'mail.user_a'") as string,
          keepsOld: true,
        },
      ]);
    });
    await limits.kubectlApply(limitManifest("search", 5));
    await eventually("the other limit", async () => expect(await pod.limitOf("search", PROBE)).toBe(5));
    expect(await questions.end()).toBe("2");
    await limits.apply(
      "mail",
      manifestOf("mail", "mail", [{ key: "user", rateLimit: { unit: "year", requestsPerUnit: 2 } }]),
    );
    await eventually("the end of the report", async () => expect((await flow.status()).troubles).toEqual([]));
    await limits.delete("search");
  });

  it("gives a domain to the oldest resource that claims it, and to the next when that is deleted", async () => {
    await limits.kubectlApply(limitManifest("search", 6));
    await eventually("the limit", async () => expect(await pod.limitOf("search", PROBE)).toBe(6));
    // The API server dates objects in whole seconds; of one second the first by name would own it.
    const second = Math.floor(Date.now() / 1000);
    await eventually("the next second", () => expect(Math.floor(Date.now() / 1000)).toBeGreaterThan(second));
    await limits.apply(
      "a-later",
      manifestOf("a-later", "search", [{ key: "user", rateLimit: { unit: "year", requestsPerUnit: 7 } }]),
    );
    await eventually("the conflict to be reported", async () => {
      const [trouble] = (await flow.status()).troubles;
      expect(trouble?.message).toContain('domain "search" belongs to shop/search');
    });
    expect(await pod.limitOf("search", PROBE)).toBe(6);
    await limits.delete("search");
    await eventually("the next one to own it", async () => expect(await pod.limitOf("search", PROBE)).toBe(7));
    await eventually("the conflict to be gone", async () => expect((await flow.status()).troubles).toEqual([]));
    await limits.delete("a-later");
  });

  it("reports to watchers of the rollout that the API server is away, and that it is back", async () => {
    const watcher = await watchRolloutApi(flow.controlPlane.url);
    await eventually("the first state", () =>
      expect(watcher.last()).toMatchObject({ ready: true, source: { location: expect.any(String) as string } }),
    );
    expect(watcher.last().source?.error).toBeUndefined();
    await cluster.apiServer.kill();
    await eventually("the problem", () => expect(watcher.last().source?.error).toContain("no answer from"));
    await cluster.startApiServer();
    await eventually("its end", () => expect(watcher.last().source?.error).toBeUndefined(), RECOVERY_TIMEOUT_MS);
    watcher.close();
  });

  it("keeps every limit while control plane and API server are down, and a new control plane waits for the API server", async () => {
    await limits.kubectlApply(limitManifest("search", 5));
    await eventually(
      "the new limit",
      async () => expect(await pod.limitOf("search", PROBE)).toBe(5),
      RECOVERY_TIMEOUT_MS,
    );
    await flow.killControlPlane();
    await cluster.apiServer.kill();
    const started = flow.startControlPlane();
    started.catch(() => undefined); // It is awaited below, unless something else fails first.
    const watcher = await eventually("a watch of the start", () => watchRolloutApi(flow.controlPlane.url));
    await eventually("the reason to wait", () => expect(watcher.last().source?.error).toContain("no answer from"));
    expect(watcher.last().ready).toBeUndefined();
    expect([await pod.limitOf("mail", PROBE), await pod.limitOf("search", PROBE)]).toEqual([2, 5]);
    await cluster.startApiServer();
    await limits.kubectlApply(limitManifest("mail", 8));
    await started;
    await eventually("the watcher to receive that it is ready", () => {
      expect([watcher.last().ready, watcher.last().source?.error]).toEqual([true, undefined]);
    });
    watcher.close();
    await eventually(
      "the changed limit",
      async () => expect(await pod.limitOf("mail", PROBE)).toBe(8),
      RECOVERY_TIMEOUT_MS,
    );
    expect(await pod.limitOf("search", PROBE)).toBe(5);
  });
});
