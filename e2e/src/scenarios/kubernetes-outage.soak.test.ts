// An API server that is away for a minute: real pods keep every limit meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LimitsCluster, startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { Pod } from "@weir/harness/weir/pod";
import { limitManifest, startWeir, type Weir } from "@weir/harness/weir/weir";

/** Longest wait for the end of an outage's effects, in milliseconds. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** How long the API server is away at least, in milliseconds. */
const OUTAGE_MS = 60_000;

/** The user whose limit is looked up. */
const PROBE = { user: "probe" };

describe("the configuration flow from Kubernetes in a long outage", () => {
  const folder = makeTemporaryFolder();
  let limits: LimitsCluster;
  let flow: Weir;
  let pod: Pod;

  beforeAll(async () => {
    limits = await startLimitsCluster();
    // By the manager that changes it in tests: an apply removes no rules of another manager.
    await limits.apply("mail", limitManifest("mail", 2));
    flow = await startWeir(folder.path, { cluster: limits });
    pod = await flow.startPod();
  });

  afterAll(async () => {
    await flow.stop();
    await limits.stop();
    folder.remove();
  });

  it("keeps every limit while the API server is away for a minute, gives them to new pods, and enforces new ones when it is back", async () => {
    const { cluster } = limits;
    const questions = pod.keepAsking("mail");
    await cluster.apiServer.kill();
    const backMs = performance.now() + OUTAGE_MS;
    expect(await pod.askThrice("mail", "away")).toEqual([200, 200, 429]);
    const second = await flow.startPod({ CONFIG_GRPC_XDS_NODE_ID: "default/second" });
    expect(await second.limitOf("mail", PROBE)).toBe(2);
    await delay(Math.max(0, backMs - performance.now()));
    await cluster.startApiServer();
    await limits.kubectlApply(limitManifest("mail", 7));
    for (const each of [pod, second]) {
      await eventually(
        "the changed limit",
        async () => expect(await each.limitOf("mail", PROBE)).toBe(7),
        RECOVERY_TIMEOUT_MS,
      );
    }
    expect(await questions.end()).toBe("2 → 7");
    await second.process.stop("SIGTERM", 30_000);
  });
});
