// Faults between the control plane and a real API server: changes reach real pods later, and every
// request meanwhile has its limit.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { manifestOf, startWeir, type Weir } from "@weir/harness/weir/weir";
import type { Pod } from "@weir/harness/weir/pod";
import type { Traffic } from "@weir/harness/weir/traffic";
import { type LimitsCluster, startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";

/** Longest wait for the end of a fault's effects, in milliseconds. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** Edits of a burst. They take a second or two; a busy machine may need longer to write them. */
const BURST_EDITS = 200;

/** Least time between two pushes, in milliseconds: changes must be quiet that long. */
const QUIET_MS = 100;

/**
 * How often connections to the API server are cut, and the time between two cuts in milliseconds.
 */
const CUTS = { count: 12, shortestMs: 20, longestMs: 900 } as const;

describe("real pods behind an API server with faults", () => {
  const folder = makeTemporaryFolder();
  const stops: (() => Promise<void> | void)[] = [() => folder.remove()];
  let limits: LimitsCluster;
  let address: CuttingProxy;
  let flow: Weir;
  let pod: Pod;
  let questions: Traffic;

  beforeAll(async () => {
    limits = await startLimitsCluster();
    stops.push(() => limits.stop());
    address = await startCuttingProxy(Number(new URL(limits.cluster.url).port));
    stops.push(() => address.close());
    await set("always", 1);
    flow = await startWeir(folder.path, { cluster: limits, apiServerPort: address.port });
    stops.push(() => flow.stop());
    pod = await flow.startPod();
  });

  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  beforeEach(() => {
    questions = pod.keepAsking("always");
  });

  afterEach(async () => {
    expect(await questions.end()).toBe("1");
  });

  it("lose no change when connections to it are cut at random while changes are made", async () => {
    // A generator with a fixed seed (Numerical Recipes), so that a failure can be repeated.
    let seed = 20_260_229;
    const random = (): number => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
    const before = address.connections;
    for (let cut = 1; cut <= CUTS.count; cut += 1) {
      await set("even", cut);
      if (cut % 2 === 0) await set("odd", cut);
      else await limits.delete("odd");
      await new Promise((resolve) =>
        setTimeout(resolve, CUTS.shortestMs + random() * (CUTS.longestMs - CUTS.shortestMs)),
      );
      address.cut();
    }
    await limits.delete("odd");
    await expectLimit("even", CUTS.count, RECOVERY_TIMEOUT_MS);
    await expectLimit("odd", undefined, RECOVERY_TIMEOUT_MS);
    expect(address.connections - before).toBeGreaterThan(3); // It waits longer each time.
  });

  it("lose no change and no deletion when its history was compacted meanwhile", async () => {
    await set("gone", 1);
    await expectLimit("gone", 1, RECOVERY_TIMEOUT_MS);
    const lists = await metric("weir_source_lists_total");
    address.block();
    await limits.delete("gone");
    await set("kept", 5);
    // The API server keeps recent events in memory; a new process has none.
    await limits.cluster.compact();
    await limits.cluster.apiServer.kill();
    await limits.cluster.startApiServer();
    await eventually("the API server to write again", () => set("kept", 6), RECOVERY_TIMEOUT_MS);
    await limits.cluster.compact();
    address.restore();
    await expectLimit("kept", 6, RECOVERY_TIMEOUT_MS);
    expect(await limitOf("gone")).toBeUndefined();
    expect(await metric("weir_source_lists_total")).toBeGreaterThan(lists);
  });

  it("keep every limit when etcd is restarted, and receive later changes", async () => {
    await limits.cluster.etcd.kill();
    await eventually("the API server to miss etcd", async () =>
      expect((await limits.cluster.kubectl(["get", "--raw", "/readyz"])).code).not.toBe(0),
    );
    limits.cluster.etcd.start();
    await eventually("the API server to write again", () => set("kept", 7), RECOVERY_TIMEOUT_MS);
    await expectLimit("kept", 7, RECOVERY_TIMEOUT_MS);
  });

  it("enforce the last of two hundred edits in a second, after a few pushes", async () => {
    const pushes = await metric("weir_ads_pushes_total");
    const startedMs = performance.now();
    await Promise.all(
      Array.from({ length: BURST_EDITS - 1 }, (_, index) => set(`burst-${index % 50}`, BURST_EDITS + index)),
    );
    await set("burst-0", 4320);
    await expectLimit("burst-0", 4320, RECOVERY_TIMEOUT_MS);
    await eventually("the rest", async () => expect(await limitOf("burst-49")).toBeGreaterThanOrEqual(BURST_EDITS));
    const pushesMax = 1 + (performance.now() - startedMs) / QUIET_MS;
    expect((await metric("weir_ads_pushes_total")) - pushes).toBeLessThanOrEqual(pushesMax);
  });

  function set(domain: string, requestsPerUnit: number): Promise<void> {
    return limits.apply(
      domain,
      manifestOf(domain, domain, [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]),
    );
  }

  function limitOf(domain: string): Promise<number | undefined> {
    return pod.limitOf(domain, { user: "probe" });
  }

  async function expectLimit(domain: string, limit: number | undefined, withinMs: number): Promise<void> {
    await eventually(
      `the limit ${limit} of ${domain}`,
      async () => expect(await limitOf(domain)).toBe(limit),
      withinMs,
    );
  }

  async function metric(series: string): Promise<number> {
    const line = (await flow.controlPlane.metrics()).split("\n").find((each) => each.startsWith(`${series} `));
    expect(line, series).toBeDefined();
    return Number(line?.slice(series.length + 1));
  }
});
