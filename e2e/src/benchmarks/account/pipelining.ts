// What other callers notice of clients that pipeline: the time of /healthz, and the memory of the service.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { residentMebibytes } from "../cpu-time.ts";
import { runLoad } from "./http-load.ts";
import type { AccountService } from "./service.ts";

const CLIENTS = 20;

/** Requests that each client has in flight: below what the service takes of one connection. */
const IN_FLIGHT = 60;

/** How long the service warms up under the same load, in milliseconds. */
const WARM_UP_MS = 3000;

/** Time between two requests of the measured caller, in milliseconds. */
const PAUSE_MS = 10;

const HEALTH_REQUEST = Buffer.from("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");

/** What was measured. */
export interface BesidePipelining {
  readonly p99Ms: number;
  /** From the warm service without load to its peak under load. */
  readonly growthMib: number;
}

/** Measures one caller next to 20 clients that pipeline. */
export async function measureBesidePipelining(
  { port, process }: AccountService,
  durationMs: number,
): Promise<BesidePipelining> {
  const warmUp = await startClients(port);
  await delay(WARM_UP_MS);
  await warmUp();
  const before = residentMebibytes(process.pid);
  let peak = before;
  const stop = await startClients(port);
  try {
    const times = await measureHealth(port, durationMs, () => {
      peak = Math.max(peak, residentMebibytes(process.pid));
    });
    const sorted = times.toSorted((a, b) => a - b);
    return { p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN, growthMib: peak - before };
  } finally {
    await stop();
  }
}

async function measureHealth(port: number, durationMs: number, look: () => void): Promise<readonly number[]> {
  const times: number[] = [];
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs) {
    let isSent = false;
    const next = (): Buffer | undefined => {
      if (isSent) return undefined;
      isSent = true;
      return HEALTH_REQUEST;
    };
    // A connection of its own each time: a probe waits for its acceptance, too.
    const startedMs = performance.now();
    await runLoad({ port, connections: 1, next, status: 200 }, durationMs);
    times.push(performance.now() - startedMs);
    look();
    await delay(PAUSE_MS);
  }
  return times;
}

/** Starts the clients; gives what ends them. */
async function startClients(port: number): Promise<() => Promise<void>> {
  const extension = import.meta.filename.slice(import.meta.filename.lastIndexOf("."));
  const program = join(import.meta.dirname, `pipelining-clients${extension}`);
  const child = fork(program, [port, CLIENTS, IN_FLIGHT].map(String), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    ...(extension === ".ts" && { execArgv: ["--conditions=source"] }),
  });
  await once(child, "spawn");
  return async () => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
}
