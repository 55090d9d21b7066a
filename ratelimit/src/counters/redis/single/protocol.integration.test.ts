// The Redis backend and each kind of reply: those that fail a call, those after which the
// connection is replaced, and those that no Redis sends. No increment is ever sent twice.
import { createLog } from "@weir/common/log/log";
import { until } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it } from "vitest";
import { check, count, WaitingBatch } from "../../counter.suite.ts";
import { DEADLINE_MS, PATIENT, TestedCounters, timeFailure } from "../redis-counter.suite.ts";
import { type Script, ScriptedNode } from "../scripted-node.suite.ts";
import { createSingleDeployment } from "./single-deployment.ts";

const counters = new TestedCounters(createSingleDeployment, PATIENT);
const nodes: ScriptedNode[] = [];
afterEach(async () => {
  await counters.stop();
  for (const node of nodes.splice(0)) await node.close();
});

/** Answers as a server without any other clients. */
const OBEDIENT: Script = ([name]) => (name === "GET" ? "$-1\r\n" : ":1\r\n");

/** A counter on a server whose first reply to INCRBY is this one; later ones are right. */
async function startWith(reply: string) {
  const node = await new ScriptedNode((words, self) => {
    if (words[0] !== "INCRBY") return OBEDIENT(words, self);
    self.script = OBEDIENT;
    return reply;
  }).open();
  nodes.push(node);
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
  const { counter, statistics } = await counters.start(node.url, { deps: { log } });
  return { node, counter, lines, connections: statistics.counter("ratelimit.redis_pool.cx_total") };
}

describe("count() by replies", () => {
  it.each([
    "OOM command not allowed when used memory > 'maxmemory'.",
    "ERR value is not an integer or out of range",
    "MOVED 3999 127.0.0.1:6381",
    "ASK 3999 127.0.0.1:6381",
    "CLUSTERDOWN The cluster is down",
    "BUSY Redis is busy running a script.",
    "ERR \u0001 ?",
  ])("count() fails and keeps the connection when the reply is the error '%s'", async (text) => {
    const { node, counter, connections } = await startWith(`-${text}\r\n`);
    const { error } = await timeFailure(counter);
    expect(error).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `Cannot count on ${node.url}: ${text}`,
      transient: true,
    });
    expect(node.count("INCRBY")).toBe(1);
    expect(await count(counter, check("next"))).toEqual([1]);
    expect(connections.value).toBe(1);
  });

  it.each([
    "READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "NOAUTH Authentication required.",
    "NOPERM User weir has no permissions to run the 'incrby' command",
  ])("count() fails and replaces the connection when the reply is the error '%s'", async (text) => {
    const { node, counter, connections } = await startWith(`-${text}\r\n`);
    const { error } = await timeFailure(counter);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: `Cannot count on ${node.url}: ${text}` });
    await until(() => connections.value === 2, DEADLINE_MS, "there is another connection");
    expect(await count(counter, check("next"))).toEqual([1]);
    expect(node.commands.filter((command) => command.startsWith("INCRBY fault"))).toHaveLength(1);
  });

  it.each([
    {
      reply: "HTTP/1.1 400 Bad Request\r\n",
      reason: "the server sent no Redis protocol: a reply begins with the byte 72",
    },
    { reply: ":1x\r\n", reason: "the server sent no Redis protocol: a number has other characters than digits" },
    { reply: "*1\r\n".repeat(100), reason: "the server sent no Redis protocol: lists are nested too deeply" },
  ])(
    "count() fails and replaces the connection when the reply is no Redis protocol: $reason",
    async ({ reply, reason }) => {
      const { node, counter, connections } = await startWith(reply);
      const { error } = await timeFailure(counter);
      expect(error).toMatchObject({
        code: "STORE_UNAVAILABLE",
        message: `Cannot reach the counter store ${node.url}: ${reason}`,
      });
      await until(() => connections.value === 2, DEADLINE_MS, "there is another connection");
      expect(await count(counter, check("next"))).toEqual([1]);
      expect(node.commands.filter((command) => command.startsWith("INCRBY fault"))).toHaveLength(1);
    },
  );

  it.each([
    { what: "a text", reply: "$3\r\nabc\r\n", text: "unexpected reply abc" },
    { what: "a list", reply: "*1\r\n:1\r\n", text: "unexpected reply 1" },
    { what: "null", reply: "$-1\r\n", text: "unexpected reply null" },
  ])("count() fails when the reply is $what", async ({ reply, text }) => {
    const { node, counter } = await startWith(reply);
    expect((await timeFailure(counter)).error).toMatchObject({ message: `Cannot count on ${node.url}: ${text}` });
    expect(await count(counter, check("next"))).toEqual([1]);
  });

  it("count() replaces the connection when the server sends a reply to no command", async () => {
    const { counter, connections, lines } = await startWith(":1\r\n");
    const [node] = nodes;
    if (node === undefined) throw new Error("A node was started");
    node.script = ([name]) => (name === "EXPIRE" ? ":1\r\n:7\r\n" : ":1\r\n");
    expect(await count(counter, check("once"))).toEqual([1]);
    await until(() => connections.value === 2, DEADLINE_MS, "there is another connection");
    expect(lines.some((line) => line.includes("the server sent a reply to no command"))).toBe(true);
    node.script = OBEDIENT;
    expect(await count(counter, check("next"))).toEqual([1]);
  });

  it("count() gives each call its own reply when replies come in many pieces", async () => {
    const { counter, connections } = await startWith(":1\r\n");
    const calls = Array.from({ length: 300 }, (_, index) => new WaitingBatch([check(`key-${index}`)]));
    for (const call of calls) counter.count(call);
    expect(await Promise.all(calls.map(({ counts }) => counts))).toEqual(calls.map(() => [1]));
    expect(connections.value).toBe(1);
  });

  it("count() answers every call, and works again, when replies are random bytes", async () => {
    const node = await new ScriptedNode(OBEDIENT).open();
    nodes.push(node);
    const { counter } = await new TestedCounters(createSingleDeployment, { commandTimeoutMs: 400 }).start(node.url);
    const types = [":", "+", "-", "$", "*", "\r\n", "1", "-1", "7", "x", "\u0000", "\u00ff"];
    let state = 1;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff; // As rand() of ANSI C.
      return (state >> 8) % below;
    };
    try {
      for (let round = 0; round < 60; round++) {
        const bytes = Array.from({ length: 1 + random(12) }, () => types[random(types.length)] ?? "").join("");
        node.script = () => bytes;
        await timeFailure(counter);
        node.script = OBEDIENT;
        await until(
          () => count(counter, check("again")).then(Boolean, () => false),
          DEADLINE_MS,
          `counting works again after ${JSON.stringify(bytes)}`,
        );
      }
    } finally {
      await counter.stop?.();
    }
  });
});
