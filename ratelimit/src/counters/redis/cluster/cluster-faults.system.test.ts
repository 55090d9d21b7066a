// Nodes of a real cluster that hang, die, come back or are replaced, and a cluster that is down:
// calls are answered within their bound, other slots continue, and everything recovers by itself.
import { until } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it } from "vitest";
import type { Counter } from "../../counter.ts";
import { check, count, WaitingBatch } from "../../counter.suite.ts";
import {
  COMMAND_TIMEOUT_MS,
  DEADLINE_MS,
  PATIENT,
  SHORT_START,
  SLACK_MS,
  TestedCounters,
  timeFailure,
} from "../redis-counter.suite.ts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { createClusterDeployment } from "./cluster-deployment.ts";
import { type ClusterOptions, type ClusterServers, startCluster } from "./cluster-servers.suite.ts";

/** The suffix that the checks of `check()` append to a key. */
const SUFFIX = "_4000000200";

/** For nodes that die: the others find out soon. */
const NOTICED = { nodeTimeoutMs: 2000 };

const counters = new TestedCounters(createClusterDeployment);

let cluster: ClusterServers | undefined;

/** A cluster of its own for each test, for they break it. */
async function open(options: ClusterOptions = {}): Promise<ClusterServers> {
  cluster = await startCluster(options);
  return cluster;
}

afterEach(async () => {
  await counters.stop();
  await cluster?.close();
  cluster = undefined;
});

/** Resolves to true if a call succeeds. */
function succeeds(counter: Counter, name: string): Promise<boolean> {
  return count(counter, check(name)).then(
    () => true,
    () => false,
  );
}

/** Insists that a call fails, and within its bound. */
async function expectFailure(
  counter: Counter,
  batch: WaitingBatch,
  shape: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { error, tookMs } = await timeFailure(counter, batch);
  expect(error).toMatchObject(shape);
  expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
}

describe("a node that hangs", () => {
  it("count() fails only for its slots, within the time limit, and works again when it resumes", async () => {
    const servers = await open();
    const { counter, active } = await counters.start(servers.url);
    const [hung, fine, other] = [0, 1, 2].map((index) => servers.keyOn(index, "hang", SUFFIX)) as [
      string,
      string,
      string,
    ];
    expect(await count(counter, check(hung), check(fine), check(other))).toEqual([1, 1, 1]);
    await servers.node(0).server.pause();
    try {
      const failure = timeFailure(counter, new WaitingBatch([check(hung)]));
      expect(await count(counter, check(fine))).toEqual([2]);
      const { error, tookMs } = await failure;
      expect(error).toMatchObject({
        code: "STORE_TIMEOUT",
        message: `Cannot count on ${servers.node(0).server.address}: no answer within ${COMMAND_TIMEOUT_MS} ms`,
      });
      expect(tookMs).toBeGreaterThan(COMMAND_TIMEOUT_MS - 20);
      expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
      // A call that touches it fails as a whole; other calls are not affected.
      await expectFailure(counter, new WaitingBatch([check(hung), check(other)]), { code: "STORE_UNAVAILABLE" });
      expect(await count(counter, check(fine))).toEqual([3]);
      await expectFailure(counter, new WaitingBatch([check(hung)], performance.now() + 50), { transient: true });
      expect(active.at(-1)).toBe(2); // Healthy: two of three nodes are reached.
    } finally {
      servers.node(0).server.resume();
    }
    await until(() => succeeds(counter, hung), DEADLINE_MS, "the node's keys are counted again");
    await until(() => succeeds(counter, fine), DEADLINE_MS, "so are the others");
    await until(() => active.at(-1) === 3, DEADLINE_MS, "all nodes are reached");
  });

  it("count() does not send the groups behind the one that failed (case 126)", async () => {
    const servers = await open();
    const { counter } = await counters.start(servers.url);
    const [hung, behind] = [servers.keyOn(0, "first", SUFFIX), servers.keyOn(1, "behind", SUFFIX)];
    expect(await count(counter, check(hung), check(behind))).toEqual([1, 1]);
    await servers.node(0).server.pause();
    try {
      await expectFailure(counter, new WaitingBatch([check(hung), check(behind)]), { code: "STORE_TIMEOUT" });
      expect(await servers.node(1).client.get(`${behind}${SUFFIX}`)).toBe("1");
      // Either reports that no connection exists, or that the time for the whole call is over.
      await expectFailure(counter, new WaitingBatch([check(behind), check(hung)]), { transient: true });
    } finally {
      servers.node(0).server.resume();
    }
  });

  it("count() sends all groups together when the parallelism is 0 and the pool large enough (case 126)", async () => {
    const servers = await open();
    const { counter } = await counters.start(servers.url, { server: { poolSize: 3, clusterPipelineParallelism: 0 } });
    const [hung, other] = [servers.keyOn(0, "first", SUFFIX), servers.keyOn(1, "other", SUFFIX)];
    expect(await count(counter, check(hung), check(other))).toEqual([1, 1]);
    await servers.node(0).server.pause();
    try {
      await expectFailure(counter, new WaitingBatch([check(hung), check(other)]), { code: "STORE_TIMEOUT" });
      expect(await servers.node(1).client.get(`${other}${SUFFIX}`)).toBe("2");
    } finally {
      servers.node(0).server.resume();
    }
  });
});

describe("a node that dies", () => {
  it("count() fails for its slots immediately after a while, and works again when it is back", async () => {
    const servers = await open({ ...NOTICED, args: ["--cluster-require-full-coverage", "no"] });
    const { counter, active } = await counters.start(servers.url);
    const [dead, fine] = [servers.keyOn(2, "die", SUFFIX), servers.keyOn(0, "die", SUFFIX)];
    expect(await count(counter, check(dead), check(fine))).toEqual([1, 1]);
    await servers.node(2).server.kill();
    await until(() => active.at(-1) === 2, DEADLINE_MS, "the loss is seen");
    const refused = async (): Promise<boolean> =>
      (await timeFailure(counter, new WaitingBatch([check(dead)]))).tookMs < 20;
    await until(refused, DEADLINE_MS, "calls fail immediately while the node is away");
    for (let times = 2; times < 20; times++) expect(await count(counter, check(fine))).toEqual([times]);
    await servers.node(2).server.restart();
    await until(() => succeeds(counter, dead), DEADLINE_MS, "the node's keys are counted again");
    expect(active.at(-1)).toBe(3);
  });

  it("count() continues with the replica that takes its place", async () => {
    const servers = await open({ ...NOTICED, args: ["--cluster-require-full-coverage", "no"] });
    const replica = await servers.joinEmpty();
    await servers.replicate(replica, servers.node(0));
    // Patient, for a call that is given up because the machine is busy may have been carried out
    // all the same; the first one waits so long for the node that is gone.
    const { counter } = await counters.start(servers.url, { options: { commandTimeoutMs: 15_000 } });
    const name = servers.keyOn(0, "replaced", SUFFIX);
    expect(await count(counter, check(name))).toEqual([1]);
    // As if the replica had received the increment, and not the expiry after it.
    await servers.node(0).client.persist(`${name}${SUFFIX}`);
    await servers.node(0).client.wait(1, 30_000);
    await servers.node(0).server.kill();
    await until(() => succeeds(counter, name), 2 * DEADLINE_MS, "the replica counts");
    // One call after the other: all that failed were not carried out, and the count continues from
    // what the replica has.
    const [after] = await count(counter, check(name));
    expect(after).toBe(3);
    expect(await replica.client.get(`${name}${SUFFIX}`)).toBe("3");
    await until(async () => (await replica.client.ttl(`${name}${SUFFIX}`)) > 0, DEADLINE_MS, "the key expires");
    await servers.node(0).server.restart(); // Comes back as a replica of the former one, which sends on what it is asked.
    await until(
      async () => String(await servers.node(0).client.role().catch(String)).startsWith("slave"),
      DEADLINE_MS,
      "it is a replica",
    );
    expect(await count(counter, check(name))).toEqual([4]);
  });
});

describe("a cluster that is down", () => {
  it("count() fails within the time limit with the cluster's words, and works again when the cluster is well", async () => {
    const servers = await open({ ...NOTICED, args: ["--cluster-require-full-coverage", "yes"] });
    const { counter } = await counters.start(servers.url);
    const name = servers.keyOn(0, "down", SUFFIX);
    expect(await count(counter, check(name))).toEqual([1]);
    await servers.node(2).server.kill();
    const isDown = async (): Promise<boolean> =>
      (await servers.node(0).client.cluster("INFO")).includes("cluster_state:fail");
    await until(isDown, DEADLINE_MS, "the cluster is down");
    let tookMs = 0;
    const words = `Cannot count on ${servers.url}: CLUSTERDOWN The cluster is down`;
    // A call whose last attempt is unanswered when its time is over fails without them.
    const failsWithWords = async (): Promise<boolean> => {
      const failure = await timeFailure(counter, new WaitingBatch([check(name)]));
      tookMs = failure.tookMs;
      return (failure.error as { readonly message?: string } | undefined)?.message === words;
    };
    await until(failsWithWords, DEADLINE_MS, "a call fails with the cluster's words");
    expect(tookMs).toBeGreaterThan(COMMAND_TIMEOUT_MS - 20);
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    await expectFailure(counter, new WaitingBatch([check(name)], performance.now() + 50), {
      code: "DEADLINE_EXCEEDED",
    });
    await servers.node(2).server.restart();
    await servers.agree();
    await until(() => succeeds(counter, name), DEADLINE_MS, "the cluster counts again");
    expect(await count(counter, check(name))).toEqual([3]); // Calls that failed while it was down were never counted.
  });

  it("count() bridges a cluster that is down for less than the time limit", async () => {
    const servers = await open({ ...NOTICED, args: ["--cluster-require-full-coverage", "yes"] });
    const { counter } = await counters.start(servers.url, { options: { commandTimeoutMs: 60_000 } });
    const name = servers.keyOn(0, "bridge", SUFFIX);
    expect(await count(counter, check(name))).toEqual([1]);
    await servers.node(2).server.kill();
    const isDown = async (): Promise<boolean> =>
      (await servers.node(0).client.cluster("INFO")).includes("cluster_state:fail");
    await until(isDown, DEADLINE_MS, "the cluster is down");
    const waiting = [count(counter, check(name)), count(counter, check(name))];
    await servers.node(2).server.restart();
    expect((await Promise.all(waiting)).flat().toSorted()).toEqual([2, 3]);
  });

  it("count() fails within the time limit for a slot that no node has, and works again when one takes it", async () => {
    const servers = await open({ args: ["--cluster-require-full-coverage", "no"] });
    const name = servers.keyOn(1, "hole", SUFFIX);
    const slot = await servers.node(1).client.cluster("KEYSLOT", `${name}${SUFFIX}`);
    await Promise.all(servers.nodes.map(({ client }) => client.cluster("DELSLOTS", slot)));
    const { counter } = await counters.start(servers.url);
    const { error, tookMs } = await timeFailure(counter, new WaitingBatch([check(name)]));
    expect(error).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `Cannot count on ${servers.url}: slot ${slot} has no node`,
    });
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    await servers.node(1).client.cluster("ADDSLOTS", slot);
    await until(() => succeeds(counter, name), DEADLINE_MS, "the slot is counted on");
  });
});

describe("start() and stop() of a cluster", () => {
  it("start() succeeds when only one of the configured nodes can be reached", async () => {
    const servers = await open();
    const { counter } = await counters.start(
      `127.0.0.1:${await reservePort()},${servers.node(1).server.address},127.0.0.1:1`,
      { options: PATIENT },
    );
    expect(await count(counter, check(servers.keyOn(0, "reached", SUFFIX)))).toEqual([1]);
  });

  it("start() fails naming the refusal when no node can be reached in time, and counting fails within its bound", async () => {
    const address = `127.0.0.1:${await reservePort()}`;
    const { counter } = counters.create(address, { options: SHORT_START });
    await expect(counter.start?.()).rejects.toThrow(
      `Timed out waiting for the counter store ${address} after ${SHORT_START.startup.maxElapsedMs} ms: Cannot reach the counter store ${address}: connection refused`,
    );
    await expectFailure(counter, new WaitingBatch([check("stopped")]), {
      message: `Cannot count on ${address}: the backend is stopping`,
    });
  });

  it("start() fails with the server's words when it is no cluster", async () => {
    const servers = await open({ nodes: 1, isCluster: false });
    const { counter } = counters.create(servers.url, { options: SHORT_START });
    await expect(counter.start?.()).rejects.toThrow("ERR This instance has cluster support disabled");
  });

  it("start() waits for nodes that come late", async () => {
    const servers = await open();
    for (const { server } of servers.nodes) await server.kill();
    const { counter } = counters.create(servers.url, {
      options: { startup: { initialMs: 20, maxMs: 100, maxElapsedMs: 0 } },
    });
    const started = counter.start?.();
    await expectFailure(counter, new WaitingBatch([check("early")]), { code: "STORE_UNAVAILABLE" });
    for (const { server } of servers.nodes) await server.restart();
    await started;
    await until(() => succeeds(counter, servers.keyOn(0, "late", SUFFIX)), DEADLINE_MS, "the cluster counts");
  });

  it("start() ends immediately when stop() comes meanwhile", async () => {
    const { counter } = counters.create(`127.0.0.1:${await reservePort()}`, {
      options: { startup: { initialMs: 1000, maxMs: 1000, maxElapsedMs: 0 } },
    });
    const started = counter.start?.();
    await counter.stop?.();
    await expect(started).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  it("count() finds the cluster again when all its nodes were away", async () => {
    const servers = await open();
    const { counter, active } = await counters.start(servers.url);
    const name = servers.keyOn(0, "away", SUFFIX);
    expect(await count(counter, check(name))).toEqual([1]);
    for (const { server } of servers.nodes) await server.kill();
    await until(() => active.at(-1) === 0, DEADLINE_MS, "the loss is seen");
    for (const { server } of servers.nodes) await server.restart();
    await until(() => succeeds(counter, name), DEADLINE_MS, "the cluster counts");
    expect(active.at(-1)).toBeGreaterThan(0);
  });

  it("stop() fails the calls on their way, and those that wait for a slot", async () => {
    const servers = await open();
    const { counter } = await counters.start(servers.url, { options: PATIENT });
    await servers.node(0).server.pause();
    try {
      const [hung, fine] = [servers.keyOn(0, "stop", SUFFIX), servers.keyOn(1, "stop", SUFFIX)];
      const onItsWay = timeFailure(counter, new WaitingBatch([check(hung), check(fine)]));
      await counter.stop?.();
      expect((await onItsWay).error).toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect((await timeFailure(counter)).error).toMatchObject({
        message: `Cannot count on ${servers.url}: the backend is stopping`,
      });
    } finally {
      servers.node(0).server.resume();
    }
  });

  it("createClusterDeployment() refuses an address it cannot read without showing it", () => {
    expect(() => counters.create("redis://user:secret@host:99999")).toThrow(/^Cannot use KVSTORE_URL: (?!.*secret)/);
  });
});
