// 200,000 inputs for connections of the HTTP/2 server in memory, and some over sockets, the same at every
// run; `make fuzz` draws others.
import { createSecureContext } from "node:tls";
import { eventually } from "@weir/harness/processes/eventually";
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";

import { TestServer, type TestProtection } from "../server/test-server.suite.ts";
import { INPUT_KINDS } from "./inputs.suite.ts";
import { answerCalls, runInputs } from "./memory-connection.suite.ts";
import { fuzzSocket } from "./socket-connection.suite.ts";

/** Inputs of one test, and tests of each kind of input. */
const INPUTS = 10_000;
const TESTS = 10;

/** One test takes 4 s on an idle core. */
const TIMEOUT_MS = 120_000;

/** Inputs over sockets, connections at a time, and how often methods answer what waits, in milliseconds. */
const SOCKET_INPUTS = 400;
const PARALLEL = 20;
const ANSWER_MS = 5;

describe.each(INPUT_KINDS)("a connection under $name", ({ make }) => {
  it.each(Array.from({ length: TESTS }, (_, seed) => ({ seed })))(
    `answers or closes with GOAWAY, and keeps nothing, ${INPUTS.toLocaleString("en")} times (seed $seed)`,
    async ({ seed }) => {
      const ends = await runInputs(make, seed, INPUTS);
      expect(ends.answers).toBeGreaterThan(INPUTS / 5);
      expect(ends.goaway).toBeGreaterThan(INPUTS / 5);
    },
    TIMEOUT_MS,
  );

  it.each<TestProtection>(["plaintext", "TLS"])("answers or closes, and keeps nothing, over %s", async (protection) => {
    const server = await TestServer.start(protection, { prefaceTimeoutMs: 1000 }, "/fuzz.Service/");
    const random = new Random(1);
    const answers = setInterval(() => answerCalls(server.service, random), ANSWER_MS);
    const { port, caPem } = server;
    const address =
      caPem === undefined
        ? ({ kind: "tcp", port } as const)
        : ({ kind: "tls", port, context: createSecureContext({ ca: caPem }) } as const);
    const work = async (seeds: Random): Promise<void> => {
      for (let input = 0; input < SOCKET_INPUTS / PARALLEL; input++) await fuzzSocket(address, make, seeds.fork());
    };
    await Promise.all(Array.from({ length: PARALLEL }, () => work(random.fork())));
    await eventually("the connections to be closed", () => expect(server.http2.counters.openConnections).toBe(0));
    answerCalls(server.service, random, true);
    clearInterval(answers);
    expect([server.http2.heldBytes, server.http2.callsInFlight]).toEqual([0, 0]);
    await server.stop();
  });
});
