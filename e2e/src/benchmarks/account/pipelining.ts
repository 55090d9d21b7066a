// Measures the effect of clients that pipeline on other callers: the time of /healthz, and the memory of the service.
import { setTimeout as delay } from "node:timers/promises";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { startProcess } from "@weir/harness/processes/start-process";
import { residentMebibytes } from "../cpu-time.ts";
import { percentile } from "../summary.ts";
import { startLoad } from "./http-load.ts";
import type { AccountService } from "./service.ts";

const CLIENTS = 20;

/** Requests that each client has in flight: below what the service takes of one connection. */
const IN_FLIGHT = 60;

/** How long the service warms up under the same load, in milliseconds. */
const WARM_UP_MS = 3000;

/** Time between two requests of the measured caller, in milliseconds. */
const PAUSE_MS = 10;

/** The folders in which Debian and others install h2load. */
const PATHS = { PATH: "/usr/local/bin:/usr/bin:/bin" } as const;

const HEALTH_REQUEST = Buffer.from("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");

/** The measured time of /healthz, and the growth of the service's memory. */
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
  await whilePipelining(port, () => delay(WARM_UP_MS));
  const before = residentMebibytes(process.pid);
  let peak = before;
  const times: number[] = [];
  await whilePipelining(port, async () => {
    const endMs = performance.now() + durationMs;
    while (performance.now() < endMs) {
      const requests = [HEALTH_REQUEST];
      // A connection of its own each time: a probe waits for its acceptance, too.
      const startedMs = performance.now();
      await startLoad({ port, connections: 1, next: () => requests.pop(), status: 200 }).done;
      times.push(performance.now() - startedMs);
      peak = Math.max(peak, residentMebibytes(process.pid));
      await delay(PAUSE_MS);
    }
  });
  return { p99Ms: percentile(times, 0.99), growthMib: peak - before };
}

/** Runs `measure` next to clients that pipeline as fast as the service answers, in a process of their own. */
async function whilePipelining(port: number, measure: () => Promise<void>): Promise<void> {
  const url = `http://${STACK_HOST}:${port}/api/v1/user/current-user`;
  const args = ["--h1", `--clients=${CLIENTS}`, `--max-concurrent-streams=${IN_FLIGHT}`, "--duration=3600", url];
  const clients = await startProcess({ name: "pipelining clients", command: "h2load", args, env: PATHS });
  try {
    await measure();
    if (!clients.isRunning()) throw clients.endedError(await clients.exited);
  } finally {
    clients.kill();
    await clients.exited;
  }
}
