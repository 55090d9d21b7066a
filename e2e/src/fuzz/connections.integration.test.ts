// Many connections at a time: thousands that do nothing, more than there are file descriptors for,
// and peers that are gone without a word.
import { readFileSync } from "node:fs";

import { afterEach, describe, expect, it } from "vitest";

import { eventually } from "@weir/testing/eventually";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import type { FuzzTarget } from "./fuzz-listener.ts";
import { type FuzzedService, startFuzzedService } from "./fuzzed-service.ts";
import { goodRequest } from "./http1-inputs.ts";
import { createPongReader, opening, ping } from "./http2-inputs.ts";
import { Wire } from "./wire.ts";

const IDLE_CONNECTIONS = 5000;

/** Most memory of the process per idle connection, in bytes: about twice what it is. */
const RSS_PER_CONNECTION_MAX_BYTES = 64 * 1024;

/** Connections that are opened together. */
const BATCH = 100;

/** Most idle connections that are asked once more. */
const SAMPLE = 100;

/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 60_000;

let folder: ReturnType<typeof makeTemporaryFolder> | undefined;
let service: FuzzedService | undefined;
const wires: Wire[] = [];

/** When a connection was answered last. */
const answeredMs = new WeakMap<Wire, number>();

afterEach(() => {
  for (const wire of wires.splice(0)) wire.destroy();
  service?.kill();
  folder?.remove();
});

async function start(prefix: readonly string[] = []): Promise<FuzzedService> {
  folder = makeTemporaryFolder();
  service = await startFuzzedService(folder.path, "plain", prefix);
  return service;
}

function targetNamed(from: FuzzedService, name: string): FuzzTarget {
  const target = from.targets.find((each) => each.name === name);
  if (target === undefined) throw new Error(`There is no listener ${name}`);
  return target;
}

/** Whether the server answers on this connection. */
async function isAnswered(wire: Wire, { speaks }: FuzzTarget, number: number): Promise<boolean> {
  if (speaks === "grpc") {
    let pongs = 0;
    const read = createPongReader((pong) => (pongs = pong));
    wire.onData = (chunk) => {
      read(chunk);
      return pongs === number;
    };
    wire.write(number === 1 ? Buffer.concat([opening(), ping(1)]) : ping(number));
  } else {
    wire.onData = () => true;
    wire.write(goodRequest({ ...speaks, paths: ["/healthcheck"] }));
  }
  const isIt = (await wire.wait(ANSWER_MS)) === "answered";
  if (isIt) answeredMs.set(wire, performance.now());
  return isIt;
}

/** Opens so many connections and uses each once; answers those that the server took. */
async function openMany(target: FuzzTarget, count: number): Promise<readonly Wire[]> {
  const taken: Wire[] = [];
  for (let opened = 0; opened < count; opened += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, count - opened) }, async () => {
      const wire = await Wire.open(target.address);
      wires.push(wire);
      if (await isAnswered(wire, target, 1)) taken.push(wire);
    });
    await Promise.all(some);
  }
  return taken;
}

describe("weir-ratelimit with many connections", () => {
  it.each([
    { name: "gRPC (plain)", keptMs: 50_000 },
    { name: "HTTP", keptMs: 75_000 },
    { name: "debug", keptMs: 5000 },
    { name: "statistics", keptMs: 5000 },
  ])("$name holds 5,000 idle connections, and every one of them is answered", async ({ name, keptMs }) => {
    const running = await start();
    const target = targetNamed(running, name);
    const before = running.rssBytes();
    const idle = await openMany(target, IDLE_CONNECTIONS);
    expect(idle).toHaveLength(IDLE_CONNECTIONS);
    const perConnection = (running.rssBytes() - before) / IDLE_CONNECTIONS;
    process.stdout.write(`${name}: ${(perConnection / 1024).toFixed(1)} KiB RSS per idle connection\n`);
    expect(perConnection).toBeLessThan(RSS_PER_CONNECTION_MAX_BYTES);
    // A listener ends what is idle for longer than it keeps it, as the first are when a busy
    // machine needs long to open all.
    const nowMs = performance.now();
    const kept = idle.filter((wire) => nowMs - answeredMs.get(wire)! < keptMs / 2);
    const sample = kept.filter((_, index) => index % Math.ceil(kept.length / SAMPLE) === 0);
    expect(sample).not.toEqual([]);
    expect(await Promise.all(sample.map((wire) => isAnswered(wire, target, 2)))).toEqual(sample.map(() => true));
    await running.assertAnswers();
    for (const wire of idle) wire.destroy();
    await eventually("the connections to be gone", () => expect(running.openSockets()).toBeLessThan(20));
    expect(running.complaints()).toEqual([]);
  });

  it("refuses connections beyond its file descriptors, says so once, serves those it has, and recovers", async () => {
    const running = await start(["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"]);
    const [grpc, http] = [targetNamed(running, "gRPC (plain)"), targetNamed(running, "HTTP")];
    const first = await openMany(grpc, 150);
    const second = await openMany(http, 150);
    // 192 in all, because 64 descriptors are for other things; of these 24 are kept for each
    // listener.
    expect([first.length, second.length]).toEqual([120, 24]);
    expect(wires.filter((wire) => wire.isClosed)).toHaveLength(156); // Refused, not left to wait.
    expect(running.logLines(/Refused connections/)).toEqual([
      expect.stringContaining("256 file descriptors allow no more connections here, besides those of other listeners"),
    ]);
    expect(running.logLines(/EMFILE|ENFILE/)).toEqual([]);
    expect(await isAnswered(first[0]!, grpc, 2)).toBe(true);
    expect(await isAnswered(second[0]!, http, 2)).toBe(true);
    for (const name of ["debug", "statistics"]) expect(await openMany(targetNamed(running, name), 24)).toHaveLength(24);
    // What needs files goes on: the rules are read again.
    running.signal("SIGHUP");
    for (const wire of first) wire.destroy();
    await eventually("there to be room", () => running.assertAnswers());
    expect(running.complaints()).toEqual([]);
  });

  it.each(["gRPC (plain)", "HTTP", "debug", "statistics"])(
    "%s asks silent peers by TCP keep-alive whether they are there",
    async (name) => {
      const running = await start();
      const target = targetNamed(running, name);
      await openMany(target, 1);
      const port = target.address.kind === "unix" ? 0 : target.address.port;
      // proc(5), net/tcp: local address, remote address, state (01 = established), queues, timer
      // (02 = keep-alive) and when it fires, in hundredths.
      const timers = (): (string[] | undefined)[] =>
        readFileSync("/proc/net/tcp", "utf8")
          .split("\n")
          .map((line) => line.trim().split(/\s+/))
          .filter(
            ([, local, , state]) =>
              local === `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}` && state === "01",
          )
          .map(([, , , , , timer]) => timer?.split(":"));
      // Until the peer's kernel has confirmed the answer, the one timer of a connection is that of
      // retransmission (01).
      const firesIn = await eventually("the keep-alive timer of the one connection", () => {
        const found = timers();
        expect(found.map((timer) => timer?.[0])).toEqual(["02"]);
        return found[0]?.[1] ?? "";
      });
      expect(parseInt(firesIn, 16)).toBeLessThanOrEqual(6000);
    },
  );
});
