// An API server that is away for a minute: real pods keep every limit meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClusterFlow, startClusterFlow } from "@weir/harness/weir/cluster-flow";

/** Longest wait for the end of an outage's effects, in milliseconds. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** How long the API server is away at least, in milliseconds. */
const OUTAGE_MS = 60_000;

describe("the configuration flow from Kubernetes in a long outage", () => {
  let all: ClusterFlow;

  beforeAll(async () => {
    all = await startClusterFlow();
  });

  afterAll(async () => {
    await all.stop();
  });

  it("keeps every limit while the API server is away for a minute, gives them to new pods, and enforces new ones when it is back", async () => {
    const {
      limits: { cluster },
      flow,
      pod,
    } = all;
    const questions = pod.keepAsking("mail");
    await cluster.apiServer.kill();
    const backMs = performance.now() + OUTAGE_MS;
    expect(await all.askThrice("away")).toEqual([200, 200, 429]);
    const second = await flow.startPod({ CONFIG_GRPC_XDS_NODE_ID: "default/second" });
    expect(await all.limitOf("mail", second)).toBe(2);
    await delay(Math.max(0, backMs - performance.now()));
    await cluster.startApiServer();
    await all.apply("mail", 7);
    for (const each of [pod, second]) {
      await eventually(
        "the changed limit",
        async () => expect(await all.limitOf("mail", each)).toBe(7),
        RECOVERY_TIMEOUT_MS,
      );
    }
    expect(await questions.end()).toBe("2 → 7");
    await second.process.stop("SIGTERM", 30_000);
  });
});
