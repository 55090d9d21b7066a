// Tests of a source over a real API server that is killed, paused, cut off, or loses its history: the
// source keeps its state and catches up.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { createLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import { keysOf, limitOf } from "../source.suite.ts";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { applyConfig, LOOSE_CRD, openSource, QUICK, RESTARTS_TIMEOUT_MS } from "./kubernetes-fixture.suite.ts";
import type { KubernetesSource, KubernetesSourceOptions, NamespaceScope } from "./kubernetes-source.ts";

/**
 * Longest wait for the source to catch up, in milliseconds. The machine may be busy with other
 * servers.
 */
const DEADLINE_MS = 60_000;

/** Time limits that no test reaches, however slow the machine is. */
const PATIENT = { answerTimeoutMs: 600_000, silenceTimeoutMs: 600_000 } as const;

/** Time limits for tests of servers that do not answer. */
const IMPATIENT = { answerTimeoutMs: 2000, silenceTimeoutMs: 2000 } as const;

let cluster: KubernetesCluster;
let proxy: CuttingProxy;
let source: KubernetesSource;
let changes = 0;
/** The lines that sources have logged. */
const lines: string[] = [];

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
  await cluster.createNamespaces("default");
  proxy = await startCuttingProxy(Number(new URL(cluster.url).port));
}, RESTARTS_TIMEOUT_MS);

afterAll(async () => {
  await proxy.close();
  await cluster.stop();
});

/** A source that reaches the API server through the proxy only. */
function open(scope: NamespaceScope = { kind: "all" }, times: KubernetesSourceOptions["times"] = {}): KubernetesSource {
  const path = join(cluster.folder, "kubeconfig-proxied");
  writeFileSync(path, cluster.kubeconfig({ server: `https://127.0.0.1:${proxy.port}` }));
  const opened = openSource(
    cluster,
    {
      scope,
      connection: { kind: "kubeconfig", paths: [path] },
      times: { ...QUICK, ...PATIENT, ...times },
    },
    createLog({ level: "warn", format: "json", write: (line) => lines.push(line) }),
  );
  opened.onChanged(() => (changes += 1));
  return opened;
}

async function apply(name: string, requestsPerUnit: number, unit?: string): Promise<void> {
  await applyConfig(
    cluster,
    manifest({ name, domain: name, requestsPerUnit, ...(unit === undefined ? {} : { unit }) }),
  );
}

/** Waits for the limits of all resources to be these. */
async function expectLimits(limits: Readonly<Record<string, number>>): Promise<void> {
  await eventually(
    `limits ${JSON.stringify(limits)}; the problem of the source: ${source.condition().problem}`,
    async () => {
      const state = await source.read();
      expect(
        Object.fromEntries(keysOf(state).map((key) => [key.slice("default/".length), limitOf(state, key)])),
      ).toEqual(limits);
    },
    DEADLINE_MS,
  );
}

async function expectProblem(text: string): Promise<void> {
  await eventually("the problem", () => expect(source.condition().problem).toContain(text), DEADLINE_MS);
}

describe("KubernetesSource, started", { timeout: RESTARTS_TIMEOUT_MS }, () => {
  async function start(times: KubernetesSourceOptions["times"] = {}): Promise<void> {
    source = open({ kind: "all" }, times);
    await source.start();
    await expectLimits({ a: 1, b: 2 });
  }

  /** Continues with another source, of other times. */
  async function startAgain(times: KubernetesSourceOptions["times"]): Promise<void> {
    await source.stop();
    await start(times);
  }

  beforeEach(async () => {
    proxy.restore();
    await apply("a", 1);
    await apply("b", 2);
    await start();
  });

  afterEach(async () => {
    await source.stop();
    proxy.restore();
    proxy.cutAfter(() => 0);
    for (const name of ["a", "b", "c", "d"]) await cluster.deleteConfig(`default/${name}`);
  });

  it("keeps its state while the API server is down, reports that, and catches up afterwards", async () => {
    const before = await source.read();
    await cluster.apiServer.kill();
    await expectProblem("no answer from");
    const { syncedMs } = source.condition();
    const { unreachable } = source.counts().failures;
    await eventually("more attempts", () =>
      expect(source.counts().failures.unreachable).toBeGreaterThan(unreachable + 3),
    );
    expect(await source.read()).toBe(before);
    expect(source.condition().syncedMs).toBe(syncedMs);
    // While the API server starts it may answer, and ask for a wait of five seconds.
    proxy.block();
    await cluster.startApiServer();
    proxy.restore();
    await apply("c", 3);
    await expectLimits({ a: 1, b: 2, c: 3 });
    await eventually("no problem", () => expect(source.condition().problem).toBeUndefined());
  });

  it("notices that a server with open connections does not answer, and follows it when it continues", async () => {
    await startAgain(IMPATIENT);
    await cluster.apiServer.pause();
    try {
      await expectProblem("nothing was received for 2 s");
      expect(keysOf(await source.read())).toEqual(["default/a", "default/b"]);
    } finally {
      cluster.apiServer.resume();
    }
    await apply("a", 10);
    await expectLimits({ a: 10, b: 2 });
  });

  it("makes a new connection when the network drops all bytes", async () => {
    await startAgain(IMPATIENT);
    const before = proxy.connections;
    proxy.swallow();
    await apply("a", 11);
    await expectProblem("nothing was received for 2 s");
    proxy.restore();
    await expectLimits({ a: 11, b: 2 });
    expect(proxy.connections).toBeGreaterThan(before);
  });

  it("misses nothing when connections are cut anywhere, repeatedly", async () => {
    // Generators with a fixed seed (Numerical Recipes): cuts fall into handshakes, headers, lists
    // and the middle of events. How many are drawn depends on the machine, so that edits have one
    // of their own.
    const generator = (seed: number): (() => number) => {
      let last = seed;
      return () => (last = (Math.imul(last, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
    };
    const [random, randomCut] = [generator(20_240_229), generator(20_240_301)];
    proxy.cutAfter(() => 500 + Math.floor(randomCut() * 8000));
    proxy.cut();
    const connections = proxy.connections;
    for (let edit = 1; edit <= 150; edit += 1) {
      const name = "abcd"[Math.floor(random() * 4)] ?? "a";
      if (random() < 0.2) await cluster.deleteConfig(`default/${name}`);
      else await apply(name, edit);
      if (edit % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await cluster.deleteConfig("default/b");
    await apply("a", 1000);
    await apply("c", 1001);
    await cluster.deleteConfig("default/d");
    await expectLimits({ a: 1000, c: 1001 });
    expect(proxy.connections - connections).toBeGreaterThan(3);
  });

  it("continues when etcd was restarted", async () => {
    await cluster.etcd.kill();
    await eventually("the API server to miss etcd", async () =>
      expect(await cluster.api.send("GET", "/readyz")).toMatchObject({ status: 500 }),
    );
    expect(keysOf(await source.read())).toEqual(["default/a", "default/b"]);
    cluster.etcd.start();
    await eventually("the API server to write again", () => apply("b", 6), 2 * DEADLINE_MS);
    await expectLimits({ a: 1, b: 6 });
  });

  it("treats an object that was deleted and created again while it was cut off as a new one", async () => {
    const before = (await source.read()).resources[0];
    proxy.block();
    await cluster.deleteConfig("default/a");
    await apply("a", 1, "fortnight");
    proxy.restore();
    // As a change of the same object it would leave the last good revision active.
    await eventually(
      "the invalid revision",
      async () =>
        expect((await source.read()).refusals).toMatchObject([{ resource: "default/a", keepsLastGood: false }]),
      DEADLINE_MS,
    );
    await expectLimits({ b: 2 });
    await apply("a", 1);
    await expectLimits({ a: 1, b: 2 });
    expect((await source.read()).resources[0]?.uid).not.toBe(before?.uid);
  });

  it("replaces silent watches by lists, and reports no problem when the server answers", async () => {
    await startAgain({ silenceTimeoutMs: 700 });
    const { lists, failures } = source.counts();
    await eventually("new lists", () => expect(source.counts().lists).toBeGreaterThan(lists + 1), DEADLINE_MS);
    expect(source.counts().failures).toEqual(failures);
    expect(source.condition().problem).toBeUndefined();
    await apply("b", 22);
    await expectLimits({ a: 1, b: 22 });
  });

  it("keeps its watch while all is well", async () => {
    await expectLimits({ a: 1, b: 2 });
    const { lists } = source.counts();
    const connections = proxy.connections;
    const before = changes;
    for (let edit = 1; edit <= 20; edit += 1) await apply("a", edit);
    await expectLimits({ a: 20, b: 2 });
    expect([source.counts().lists, proxy.connections]).toEqual([lists, connections]);
    expect(changes - before).toBeLessThanOrEqual(20);
  });
});

describe("KubernetesSource, started, with namespaces by label", { timeout: RESTARTS_TIMEOUT_MS }, () => {
  async function label(value: string): Promise<void> {
    expect(await cluster.kubectl(["label", "--overwrite", "namespace", "default", `limits=${value}`])).toMatchObject({
      code: 0,
    });
  }

  it("notices what namespaces gained and lost while it was cut off", async () => {
    await label("on");
    await apply("a", 1);
    source = open({ kind: "labelled", selector: "limits=on" });
    await source.start();
    await expectLimits({ a: 1 });
    for (const [value, limits] of [
      ["off", {}],
      ["on", { a: 1 }],
    ] as const) {
      proxy.block();
      await label(value);
      proxy.restore();
      await expectLimits(limits);
    }
    await source.stop();
    await cluster.deleteConfig("default/a");
    await label("off");
  });
});

describe("KubernetesSource.start()", { timeout: RESTARTS_TIMEOUT_MS }, () => {
  it("waits while the API server is unreachable, reports why, and returns no state until everything is listed", async () => {
    await apply("a", 1);
    proxy.block();
    source = open();
    let isStarted = false;
    const started = Promise.resolve(source.start()).then(() => (isStarted = true));
    await expectProblem(`no answer from https://127.0.0.1:${proxy.port}`);
    expect(isStarted).toBe(false);
    expect(source.condition().syncedMs).toBeUndefined();
    await expect(source.read()).rejects.toMatchObject({ code: "SOURCE_UNREADABLE", transient: true });
    proxy.restore();
    await started;
    expect(keysOf(await source.read())).toEqual(["default/a"]);
    await source.stop();
    await cluster.deleteConfig("default/a");
  });

  it("logs the server and what it waits for while nothing answers, and ends when it is stopped", async () => {
    proxy.hold();
    lines.length = 0;
    source = open({ kind: "all" }, { slowAfterMs: 200 });
    const started = source.start();
    await eventually("the log line", () =>
      expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        {
          level: "warning",
          "@message": "The API server does not answer, still waiting",
          server: `https://127.0.0.1:${proxy.port}`,
          waitsFor: "the answer to list ratelimitconfigs.ratelimit.weir.dev in all namespaces",
        },
      ]),
    );
    await source.stop();
    await started;
    proxy.restore();
  });

  it("fails immediately when the kubeconfig cannot be used", async () => {
    const broken = openSource(cluster, { connection: { kind: "kubeconfig", paths: ["/nowhere/config"] } });
    await expect(broken.start()).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringContaining("Cannot use the kubeconfig /nowhere/config: ") as string,
    });
  });
});
