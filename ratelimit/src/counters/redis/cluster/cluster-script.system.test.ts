// The cluster deployment against nodes that follow a script: redirections that go in circles or
// nowhere, refusals that pass, answers that cannot be read, and proof that nothing which may have
// been carried out is sent again.
import fc from "fast-check";
import { until } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it } from "vitest";
import type { StoreError } from "../../store-error.ts";
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
import { END, type Script, ScriptedNode, slotsReply } from "../scripted-node.suite.ts";

const counters = new TestedCounters(createClusterDeployment);

/** Slot of the key that most tests count. */
const KEY = "key_4000000200";
const SLOT = 7437;

const nodes: ScriptedNode[] = [];

async function open(script: Script): Promise<ScriptedNode> {
  const node = await new ScriptedNode(script).open();
  nodes.push(node);
  return node;
}

afterEach(async () => {
  await counters.stop();
  for (const node of nodes.splice(0)) await node.close();
});

/**
 * Answers CLUSTER SLOTS with the node itself, which has everything, EXPIRE with success, and the
 * rest by the test's script.
 */
function alone(script: Script): Script {
  return (words, node) => {
    if (words[0] === "CLUSTER") return slotsReply([[0, 16_383, "127.0.0.1", node.port]]);
    return words[0] === "EXPIRE" ? ":1\r\n" : script(words, node);
  };
}

/** Gives these answers one after the other, the last one indefinitely. */
function inTurn(...answers: readonly string[]): Script {
  let at = 0;
  return () => answers[Math.min(at++, answers.length - 1)];
}

describe("refusals that pass", () => {
  it.each([
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "CLUSTERDOWN The cluster is down",
    "CLUSTERDOWN Hash slot not served",
    "MASTERDOWN PooledConnection with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
  ])("count() sends the increment again after '%s'", async (refusal) => {
    const node = await open(alone(inTurn(`-${refusal}\r\n`, ":7\r\n")));
    const { counter } = await counters.start(node.url, { options: PATIENT });
    expect(await count(counter, check("key", 7))).toEqual([7]);
    expect(node.commands.filter((command) => command.startsWith("INCRBY"))).toEqual([
      `INCRBY ${KEY} 7`,
      `INCRBY ${KEY} 7`,
    ]);
  });

  it("count() fails with the node's words when they do not pass", async () => {
    const node = await open(alone(() => "-TRYAGAIN later\r\n"));
    const { counter } = await counters.start(node.url);
    const { error, tookMs } = await timeFailure(counter, new WaitingBatch([check("key")]));
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: `Cannot count on ${node.url}: TRYAGAIN later` });
    expect(tookMs).toBeGreaterThan(COMMAND_TIMEOUT_MS - 20);
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    expect(node.count("INCRBY")).toBeLessThanOrEqual(1 + COMMAND_TIMEOUT_MS / 100); // Immediately and then every 100 ms.
  });

  it("count() does not send again what was refused for another reason", async () => {
    const node = await open(alone(() => "-OOM command not allowed when used memory > 'maxmemory'.\r\n"));
    const { counter } = await counters.start(node.url, { options: PATIENT });
    await expect(count(counter, check("key"))).rejects.toThrow("OOM command not allowed");
    expect(node.count("INCRBY")).toBe(1);
  });
});

describe("redirections", () => {
  it("count() sends ASKING before each command to the node that ASK names, and comes back the next time", async () => {
    const target = await open((words) =>
      words[0] === "INCRBY" ? ":5\r\n" : words[0] === "EXPIRE" ? ":1\r\n" : "+OK\r\n",
    );
    const source = await open((words, { port }) =>
      words[0] === "CLUSTER" ? slotsReply([[0, 16_383, "127.0.0.1", port]]) : `-ASK ${SLOT} ${target.url}\r\n`,
    );
    const { counter } = await counters.start(source.url, { options: PATIENT });
    expect(await count(counter, check("key"))).toEqual([5]);
    expect(target.commands).toEqual(["ASKING", `INCRBY ${KEY} 1`, "ASKING", `EXPIRE ${KEY} 60`]);
    expect(await count(counter, check("key"))).toEqual([5]);
    expect(target.commands.slice(4, 6)).toEqual(["ASKING", `INCRBY ${KEY} 1`]);
    expect(target.count("ASKING")).toBe(target.commands.length / 2);
    expect(source.count("INCRBY")).toBe(2);
  });

  it.each([
    { kind: "ASK", sent: ["ASKING", `EXPIRE ${KEY} 60`] },
    { kind: "MOVED", sent: [`EXPIRE ${KEY} 60`] },
  ])(
    "count() sends the expiry to the node that $kind names when the key went there behind its increment",
    async ({ kind, sent }) => {
      const target = await open((words) => (words[0] === "EXPIRE" ? ":1\r\n" : "+OK\r\n"));
      const source = await open((words, { port }) => {
        if (words[0] === "CLUSTER") return slotsReply([[0, 16_383, "127.0.0.1", port]]);
        return words[0] === "INCRBY" ? ":5\r\n" : `-${kind} ${SLOT} ${target.url}\r\n`;
      });
      const { counter } = await counters.start(source.url, { options: PATIENT });
      expect(await count(counter, check("key"))).toEqual([5]);
      await until(() => target.count("EXPIRE") > 0, DEADLINE_MS, "the key expires");
      expect(target.commands.slice(0, sent.length)).toEqual(sent);
      expect(source.count("INCRBY")).toBe(1);
    },
  );

  it("count() takes the node that was asked when MOVED names no host", async () => {
    const other = await open((words) => (words[0] === "INCRBY" ? ":3\r\n" : ":1\r\n"));
    const node = await open(alone(() => `-MOVED ${SLOT} :${other.port}\r\n`));
    const { counter } = await counters.start(node.url, { options: PATIENT });
    expect(await count(counter, check("key"))).toEqual([3]);
  });

  it("count() gives up within the time limit when two nodes send it to each other, without keeping them busy", async () => {
    const ports: number[] = [];
    const toOther: Script = (_words, { port }) => `-MOVED ${SLOT} 127.0.0.1:${ports.find((each) => each !== port)}\r\n`;
    const first = await open(alone(toOther));
    const second = await open(alone(toOther));
    ports.push(first.port, second.port);
    const { counter } = await counters.start(first.url);
    const { error, tookMs } = await timeFailure(counter, new WaitingBatch([check("key")]));
    // A timeout, when the time limit is over while it is on its way to a node once more.
    expect(["STORE_UNAVAILABLE", "STORE_TIMEOUT"]).toContain((error as StoreError).code);
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    const sent = first.count("INCRBY") + second.count("INCRBY");
    expect(sent).toBeGreaterThanOrEqual(6); // At once five times, and after that every 100 ms.
    expect(sent).toBeLessThanOrEqual(5 + COMMAND_TIMEOUT_MS / 100 + 3);
  });

  it("count() fails within the time limit when MOVED names a node that is not there, and others are not harmed", async () => {
    const away = await reservePort();
    const node = await open(alone((words) => (words[1] === KEY ? `-MOVED ${SLOT} 127.0.0.1:${away}\r\n` : ":1\r\n")));
    const { counter } = await counters.start(node.url);
    const failure = timeFailure(counter, new WaitingBatch([check("key")]));
    expect(await count(counter, check("other"))).toEqual([1]);
    const { error, tookMs } = await failure;
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
  });
});

describe("an increment that may have been carried out", () => {
  it("count() does not send it again when the connection ends without an answer", async () => {
    const node = await open(alone((words) => (words[0] === "INCRBY" ? END : ":1\r\n")));
    const { counter } = await counters.start(node.url, { options: PATIENT });
    await expect(count(counter, check("key"))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await timeFailure(counter, new WaitingBatch([check("other")])); // By then the connection works again.
    expect(node.commands.filter((command) => command === `INCRBY ${KEY} 1`)).toHaveLength(1);
  });

  it("count() does not send it again when there is no answer, whatever the cluster says meanwhile", async () => {
    const other = await open(alone(() => ":1\r\n"));
    let hasFailedOver = false;
    const node = await open((words, { port }) =>
      words[0] === "CLUSTER" ? slotsReply([[0, 16_383, "127.0.0.1", hasFailedOver ? other.port : port]]) : undefined,
    );
    const { counter } = await counters.start(node.url);
    const failure = timeFailure(counter, new WaitingBatch([check("key")]));
    hasFailedOver = true; // As the next question about the topology finds.
    expect((await failure).error).toMatchObject({ code: "STORE_TIMEOUT" });
    expect(other.count("INCRBY")).toBe(0);
    await until(
      async () => (await timeFailure(counter, new WaitingBatch([check("next")]))).error === undefined,
      DEADLINE_MS,
      "it counts",
    );
    expect(node.commands.filter((command) => command === `INCRBY ${KEY} 1`)).toHaveLength(1);
    expect(other.commands.filter((command) => command === `INCRBY ${KEY} 1`)).toHaveLength(0);
  });
});

describe("the topology", () => {
  it("start() asks CLUSTER SHARDS when CLUSTER SLOTS is not known", async () => {
    const node = await open((words, { port }) => {
      if (words[1] === "SLOTS") return "-ERR unknown subcommand 'SLOTS'. Try CLUSTER HELP.\r\n";
      if (words[1] !== "SHARDS") return ":1\r\n";
      const fields = `*8\r\n$4\r\nport\r\n:${port}\r\n$8\r\nendpoint\r\n$0\r\n\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$6\r\nhealth\r\n$6\r\nonline\r\n`;
      return `*1\r\n*4\r\n$5\r\nslots\r\n*2\r\n:0\r\n:16383\r\n$5\r\nnodes\r\n*1\r\n${fields}`;
    });
    const { counter } = await counters.start(node.url, { options: PATIENT });
    expect(await count(counter, check("key"))).toEqual([1]);
    expect(node.commands.slice(0, 2)).toEqual(["CLUSTER SLOTS", "CLUSTER SHARDS"]);
  });

  it.each([
    { how: "nonsense", reply: "+OK\r\n", text: "the answer to CLUSTER SLOTS cannot be read" },
    { how: "no slots", reply: "*0\r\n", text: "the cluster has no slots" },
    { how: "nodes without an address", reply: slotsReply([[0, 16_383, "?", 7000]]), text: "the cluster has no slots" },
  ])("start() fails in time when the node answers $how", async ({ reply, text }) => {
    const node = await open(() => reply);
    const { counter } = counters.create(node.url, { options: SHORT_START });
    await expect(counter.start?.()).rejects.toThrow(text);
  });

  it("count() continues with what is known when later answers cannot be read", async () => {
    let isWell = true;
    const node = await open((words, { port }) => {
      if (words[0] !== "CLUSTER") return ":1\r\n";
      return isWell ? slotsReply([[0, 16_383, "127.0.0.1", port]]) : "*1\r\n+nonsense\r\n";
    });
    const { counter } = await counters.start(node.url, { options: PATIENT });
    isWell = false;
    const asked = node.count("CLUSTER");
    await expect.poll(() => node.count("CLUSTER") - asked, { timeout: DEADLINE_MS }).toBeGreaterThan(1);
    expect(await count(counter, check("key"))).toEqual([1]);
  });

  it("start() neither throws nor hangs when the node answers anything at all", async () => {
    const bulk = fc.string({ unit: "binary-ascii", maxLength: 12 }).map((text) => `$${text.length}\r\n${text}\r\n`);
    const number = fc.oneof(fc.nat(20_000), fc.integer()).map((value) => `:${value}\r\n`);
    const { reply } = fc.letrec<{ reply: string }>((tie) => ({
      reply: fc.oneof(
        { depthSize: "medium", maxDepth: 4 },
        bulk,
        number,
        fc.constantFrom("$-1\r\n", "*-1\r\n", "+OK\r\n", "-ERR no\r\n", `-MOVED ${SLOT} :1\r\n`),
        fc.array(tie("reply"), { maxLength: 6 }).map((items) => `*${items.length}\r\n${items.join("")}`),
      ),
    }));
    const startup = { initialMs: 1, maxMs: 2, maxElapsedMs: 20 };
    await fc.assert(
      fc.asyncProperty(reply, async (answer) => {
        const node = await new ScriptedNode(() => answer).open();
        const { counter } = counters.create(node.url, { options: { startup, commandTimeoutMs: 20 } });
        const ended = await counter.start?.()?.then(
          () => "started",
          (error: unknown) => (error as { code?: unknown }).code,
        );
        await counter.stop?.();
        await node.close();
        expect(["started", "STORE_UNAVAILABLE"]).toContain(ended);
      }),
      { numRuns: 200, seed: 4229 },
    );
  });
});
