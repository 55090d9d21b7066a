// 5,000 idle connections on each listener: memory per connection, and that each is still answered.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { ConnectionFixture } from "./connection-fixture.suite.ts";

const IDLE_CONNECTIONS = 5000;

/** Most memory of the process per idle connection, in bytes: about twice what it is. */
const RSS_PER_CONNECTION_MAX_BYTES = 64 * 1024;

/** Most idle connections that are asked once more. */
const SAMPLE = 100;

let fixture: ConnectionFixture;

beforeEach(() => {
  fixture = new ConnectionFixture();
});
afterEach(() => fixture.end());

describe("weir-ratelimit with many connections", () => {
  it.each([
    { name: "gRPC (plain)", keptMs: 50_000 },
    { name: "HTTP", keptMs: 75_000 },
    { name: "debug", keptMs: 5000 },
    { name: "statistics", keptMs: 5000 },
  ])("$name holds 5,000 idle connections, and every one of them is answered", async ({ name, keptMs }) => {
    const running = await fixture.start();
    const target = fixture.target(name);
    const before = running.rssBytes();
    const idle = await fixture.openMany(target, IDLE_CONNECTIONS);
    expect(idle).toHaveLength(IDLE_CONNECTIONS);
    const perConnection = (running.rssBytes() - before) / IDLE_CONNECTIONS;
    process.stdout.write(`${name}: ${(perConnection / 1024).toFixed(1)} KiB RSS per idle connection\n`);
    expect(perConnection).toBeLessThan(RSS_PER_CONNECTION_MAX_BYTES);
    // A listener closes what is idle for too long, as the first are on a busy machine.
    const nowMs = performance.now();
    const kept = idle.filter((wire) => nowMs - fixture.answeredMs.get(wire)! < keptMs / 2);
    const sample = kept.filter((_, index) => index % Math.ceil(kept.length / SAMPLE) === 0);
    expect(sample).not.toEqual([]);
    expect(await Promise.all(sample.map((wire) => fixture.isAnswered(wire, target)))).toEqual(sample.map(() => true));
    await running.assertAnswers();
    for (const wire of idle) wire.destroy();
    await eventually("the connections to be closed", () => expect(running.openSockets()).toBeLessThan(20));
    expect(running.complaints()).toEqual([]);
  });
});
