// The program over a real Kubernetes API server, and pods that are connected to it: what is applied
// arrives, and an API server that is away takes nothing.

import { limitsIn } from "@weir/harness/ads/pod-end";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";
import { startSource } from "@weir/harness/processes/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { manifest } from "./translate/manifests.suite.ts";
import { askRollout } from "./report/rollout/ask-rollout.suite.ts";
import { applyConfig, RESTARTS_TIMEOUT_MS } from "./source/kubernetes/kubernetes-fixture.suite.ts";

/**
 * Longest wait for an edit, in milliseconds: so much sooner than the next watch or list that only
 * the watch can have brought it.
 */
const ARRIVAL_MS = 20_000;

/** Shortest time between two pushes, in milliseconds: changes must be quiet for so long. */
const QUIET_MS = 100;

/** Failed requests of an outage, after which the waits between requests have grown as far as they may. */
const OUTAGE_FAILURES = 6;

/**
 * Longest wait for a change after the API server is ready again, in milliseconds: five seconds
 * between two attempts, and more for a busy machine.
 */
const RECOVERY_MS = 25_000;

/** Longest wait for programs and servers to come up, in milliseconds. */
const START_MS = 60_000;

let cluster: KubernetesCluster;

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigs");
  await cluster.createNamespaces("team");
}, RESTARTS_TIMEOUT_MS);

afterAll(async () => {
  await cluster.stop();
});

/** A started program. */
interface ControlPlaneProcess {
  readonly output: () => string;
  readonly adsPort: () => number;
  readonly http: string;
  stop(): Promise<number | null>;
  kill(): Promise<number | null>;
}

async function startControlPlane(more: Readonly<Record<string, string>> = {}): Promise<ControlPlaneProcess> {
  // Reserved, because the log has the address only when everything is up.
  const httpPort = await reservePort();
  const env = {
    SOURCE: "kubernetes",
    KUBECONFIG: cluster.kubeconfigPath,
    ADS_PLAINTEXT: "true",
    ADS_HOST: "127.0.0.1",
    ADS_PORT: "0",
    HTTP_HOST: "127.0.0.1",
    HTTP_PORT: String(httpPort),
    CONSOLE_PORT: "0",
    SHUTDOWN_DRAIN: "0s",
    ALLOW_EMPTY_AFTER: "2s",
    ...more,
  };
  const child = startSource("control-plane/src/main.ts", env);
  const find = (pattern: RegExp): string => {
    const found = pattern.exec(child.text())?.[1];
    if (found === undefined) throw new Error(`${String(pattern)} is not in ${child.text()}`);
    return found;
  };
  return {
    output: () => child.text(),
    adsPort: () => Number(find(/Control plane is up.*ads="127\.0\.0\.1:(\d+)"/)),
    http: `http://127.0.0.1:${httpPort}`,
    stop: () => child.end("SIGTERM"),
    kill: () => child.end("SIGKILL"),
  };
}

describe("weir-control-plane with SOURCE=kubernetes", { timeout: RESTARTS_TIMEOUT_MS }, () => {
  let program: ControlPlaneProcess;
  const pods: ScriptedPod[] = [];

  /** A pod that ACKs everything. */
  function connect(): ScriptedPod {
    const pod = new ScriptedPod(program.adsPort());
    pods.push(pod);
    pod.request();
    return pod;
  }

  async function expectLimits(
    pod: ScriptedPod,
    limits: Readonly<Record<string, number>>,
    withinMs = START_MS,
  ): Promise<void> {
    await eventually(
      `limits ${JSON.stringify(limits)}`,
      () => expect(limitsIn(pod.last, ({ domain }) => domain)).toEqual(limits),
      withinMs,
    );
    pod.accept();
  }

  async function apply(name: string, requestsPerUnit: number): Promise<void> {
    await applyConfig(cluster, manifest({ name, domain: name, namespace: "team", requestsPerUnit }));
  }

  async function sourceError(): Promise<string | undefined> {
    return (await askRollout(Number(new URL(program.http).port))).source?.error;
  }

  async function get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(program.http + path);
    return { status: response.status, text: await response.text() };
  }

  async function metric(series: string): Promise<number> {
    const line = (await get("/metrics")).text.split("\n").find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1));
  }

  beforeAll(async () => {
    program = await startControlPlane();
    await eventually("the start", () => program.adsPort(), START_MS);
  }, RESTARTS_TIMEOUT_MS);

  afterAll(async () => {
    expect(await program.stop()).toBe(0);
  });

  /** Each test begins with the one limit of alpha, which a new pod receives. */
  beforeEach(async () => {
    await apply("alpha", 1);
    await expectLimits(connect(), { alpha: 1 });
  });

  afterEach(async () => {
    for (const name of ["beta", "gamma"]) await cluster.deleteConfig(`team/${name}`);
    await apply("alpha", 1);
    await expectLimits(connect(), { alpha: 1 });
    for (const pod of pods.splice(0)) pod.close();
  });

  // The first test: what others delete less than two seconds before would come back with the rest.
  it("keeps the limits of pods while the CustomResourceDefinition is deleted and installed again", async () => {
    const pod = connect();
    await expectLimits(pod, { alpha: 1 });
    const crd = "ratelimitconfigs.ratelimit.weir.dev";
    expect(await cluster.kubectl(["delete", "crd", crd, "--timeout=60s"])).toMatchObject({ code: 0 });
    await eventually("the problem in the status", async () =>
      expect(await sourceError()).toMatch(/CustomResourceDefinition .* is not installed/),
    );
    expect(program.output()).toContain("The CustomResourceDefinition is gone or being deleted");
    const late = connect();
    await expectLimits(late, { alpha: 1 });
    await cluster.installKinds("ratelimitconfigs");
    await apply("alpha", 7);
    for (const each of [pod, late]) {
      await expectLimits(each, { alpha: 7 });
      expect(each.responses.length).toBe(2);
    }
  });

  it("brings what kubectl applies and deletes to the pod", async () => {
    const pod = connect();
    await expectLimits(pod, { alpha: 1 });
    const { code } = await cluster.kubectl(
      ["apply", "-f", "-"],
      manifest({ name: "beta", domain: "beta", namespace: "team" }),
    );
    expect(code).toBe(0);
    await expectLimits(pod, { alpha: 1, beta: 5 }, ARRIVAL_MS);
    await apply("beta", 6);
    await expectLimits(pod, { alpha: 1, beta: 6 }, ARRIVAL_MS);
    await cluster.deleteConfig("team/alpha");
    await expectLimits(pod, { beta: 6 }, ARRIVAL_MS);
  });

  it("puts two hundred edits of a moment together, and delivers the last", async () => {
    const pod = connect();
    await expectLimits(pod, { alpha: 1 });
    const before = pod.responses.length;
    const startedMs = performance.now();
    for (let edit = 1; edit <= 200; edit += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, index) => apply("alpha", edit + index)));
    }
    await apply("alpha", 4321);
    await expectLimits(pod, { alpha: 4321 }, ARRIVAL_MS);
    // A busy machine makes the moment longer, and separates some edits from the others.
    expect(pod.responses.length - before).toBeLessThanOrEqual(
      Math.ceil((performance.now() - startedMs) / QUIET_MS) + 1,
    );
  });

  it("gives a domain to the next resource that claims it when its owner is deleted", async () => {
    const pod = connect();
    await expectLimits(pod, { alpha: 1 });
    await applyConfig(cluster, manifest({ name: "beta", domain: "alpha", namespace: "team", requestsPerUnit: 2 }));
    await eventually("the conflict", () => expect(program.output()).toContain("DomainConflict"));
    await cluster.deleteConfig("team/alpha");
    await expectLimits(pod, { alpha: 2 }, ARRIVAL_MS);
    expect(pod.responses.length).toBe(2);
  });

  it("keeps the limits of pods while the API server is away, gives them to new pods, and brings changes soon after it is back", async () => {
    await apply("beta", 2);
    const pod = connect();
    await expectLimits(pod, { alpha: 1, beta: 2 });
    const before = pod.responses.length;
    await cluster.apiServer.kill();
    await eventually("the problem in the status", async () => expect(await sourceError()).toContain("no answer from"));
    const syncedSeconds = await metric("weir_source_last_sync_timestamp_seconds");
    const late = connect();
    await expectLimits(late, { alpha: 1, beta: 2 });
    await eventually("many failures", async () =>
      expect(await metric('weir_source_failures_total{kind="unreachable"}')).toBeGreaterThanOrEqual(OUTAGE_FAILURES),
    );
    const latest = connect();
    await expectLimits(latest, { alpha: 1, beta: 2 });
    expect([pod.responses.length, pod.end, late.responses.length, late.end]).toEqual([before, undefined, 1, undefined]);
    expect((await get("/readyz")).status).toBe(200);
    expect(await metric("weir_source_last_sync_timestamp_seconds")).toBe(syncedSeconds);
    await cluster.startApiServer();
    await apply("gamma", 3);
    await cluster.deleteConfig("team/beta");
    for (const each of [pod, late, latest]) await expectLimits(each, { alpha: 1, gamma: 3 }, RECOVERY_MS);
    await eventually("no problem", async () => expect(await sourceError()).toBe(""));
    await eventually("the end of the problem in the log", () =>
      expect(program.output()).toContain("Following the API server again"),
    );
    // Each of three kinds of failure is logged once a minute at most, for resources and for their definition.
    expect(program.output().match(/Cannot follow the API server/g)?.length).toBeLessThanOrEqual(6);
  });

  it("gives the same version again after a restart", async () => {
    const first = await connect().response(1);
    for (const pod of pods.splice(0)) pod.close();
    expect(await program.stop()).toBe(0);
    program = await startControlPlane();
    await eventually("the start", () => program.adsPort(), START_MS);
    const second = await connect().response(1);
    expect([second.versionInfo, second.resources]).toEqual([first.versionInfo, first.resources]);
  });
});

describe("weir-control-plane with SOURCE=kubernetes, started while the API server is away", () => {
  it(
    "waits, reports why at /readyz and in the log, and serves when the API server is there",
    { timeout: RESTARTS_TIMEOUT_MS },
    async () => {
      await applyConfig(cluster, manifest({ name: "alpha", domain: "alpha", namespace: "team", requestsPerUnit: 9 }));
      await cluster.apiServer.kill();
      const program = await startControlPlane();
      try {
        await eventually("the reason", async () => {
          const response = await fetch(`${program.http}/readyz`);
          expect(response.status).toBe(503);
          expect(await response.text()).toContain("no answer from");
        });
        expect(program.output()).toContain("Cannot follow the API server, nothing is served yet");
        await cluster.startApiServer();
        await eventually("the start", () => program.adsPort(), START_MS);
        const pod = new ScriptedPod(program.adsPort());
        pod.request();
        expect(limitsIn(await pod.response(1), ({ domain }) => domain)).toEqual({ alpha: 9 });
        pod.close();
        expect((await fetch(`${program.http}/readyz`)).status).toBe(200);
      } finally {
        expect(await program.stop()).toBe(0);
      }
    },
  );
});

describe("two replicas with a namespace above its share", { timeout: RESTARTS_TIMEOUT_MS }, () => {
  const BOUND = { SNAPSHOT_NAMESPACE_MAX_BYTES: "40000" };
  const replicas: ControlPlaneProcess[] = [];
  const pods: ScriptedPod[] = [];

  beforeAll(async () => {
    await cluster.kubectl(["delete", "rlc", "--all", "--all-namespaces"]);
    await cluster.createNamespaces("greedy", "modest");
  });

  afterAll(async () => {
    for (const pod of pods) pod.close();
    for (const replica of replicas) await replica.stop();
  });

  async function startReplica(): Promise<ControlPlaneProcess> {
    const replica = await startControlPlane(BOUND);
    replicas.push(replica);
    await eventually("the replica", () => expect(replica.adsPort()).toBeGreaterThan(0), START_MS);
    return replica;
  }

  /** The version and the domains that a pod of a replica is sent. */
  async function sentBy(replica: ControlPlaneProcess): Promise<readonly unknown[]> {
    const pod = new ScriptedPod(replica.adsPort());
    pods.push(pod);
    pod.request();
    await eventually("a response", () => expect(pod.responses).not.toEqual([]), START_MS);
    pod.accept();
    return [pod.last.versionInfo, Object.keys(limitsIn(pod.last, ({ domain }) => domain)).toSorted()];
  }

  it("send the same after one was killed, and serve other tenants", async () => {
    const kept = await startReplica();
    const killed = await startReplica();
    for (const number of [1, 2, 3, 4]) {
      const name = `large-${number}`;
      await applyConfig(cluster, manifest({ name, domain: name, namespace: "greedy", largeRules: 18 }));
    }
    const domains = ["large-1", "large-2"];
    for (const replica of [kept, killed])
      await eventually("the oldest two", async () => expect((await sentBy(replica))[1]).toEqual(domains), START_MS);
    await killed.kill();
    const restarted = await startReplica();
    await applyConfig(cluster, manifest({ name: "mail", domain: "mail", namespace: "modest" }));
    await eventually(
      "equal replicas",
      async () => {
        const sent = await sentBy(kept);
        expect([sent[1], await sentBy(restarted)]).toEqual([[...domains, "mail"], sent]);
      },
      START_MS,
    );
  });
});
