// The built account service as its benchmark runs it: on free ports of this machine, with data of its
// own and without limits.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { machineEnv } from "@weir/dev/setup/programs";
import { type Env, launcher } from "@weir/harness/processes/programs";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { startProcess } from "@weir/harness/processes/start-process";
import { E2eError } from "../../errors.ts";

/** Longest wait for readiness, in milliseconds: far beyond its bar, so that a miss is measured. */
const READY_MAX_MS = 60_000;

/** Time between two requests for readiness, in milliseconds: the error of the measured start. */
const READY_INTERVAL_MS = 5;

/** A running service. */
export interface AccountService {
  readonly port: number;
  readonly process: ProcessGroup;
  /** From the start of the process to the first answer that it is ready, in milliseconds. */
  readonly readyMs: number;
  stop(): Promise<unknown>;
}

/** The folder and the checkout of services; `onStarted` receives the functions that stop them. */
export interface AccountPlace {
  /** For their data. */
  readonly folder: string;
  /** Root of the checkout whose service it is; by default this one. */
  readonly root?: string;
  readonly onStarted: (stop: () => Promise<unknown>) => void;
}

/** Starts a service; `env` adds to its settings. */
export async function startService({ folder, root, onStarted }: AccountPlace, env: Env = {}): Promise<AccountService> {
  const [port = 0, metricsPort = 0] = await reservePorts(2);
  // eslint-disable-next-line no-restricted-syntax -- the program needs the PATH of the machine
  const machine = machineEnv(process.env);
  const startedMs = performance.now();
  const service = await startProcess({
    name: "account service",
    command: launcher("weir-account", root),
    env: {
      ...machine,
      HOST: STACK_HOST,
      PORT: String(port),
      METRICS_HOST: STACK_HOST,
      METRICS_PORT: String(metricsPort),
      DATA_DIR: mkdtempSync(join(folder, "data-")),
      LOG_LEVEL: "error",
      SHUTDOWN_DRAIN: "0s",
      RATE_LIMIT_FAILURE: "open", // Without a rate limit service: no limits.
      ...env,
    },
  });
  const stop = (): Promise<unknown> => service.stop("SIGTERM", 5000);
  onStarted(stop);
  await waitUntilReady(service, `http://${STACK_HOST}:${metricsPort}/readyz`, startedMs);
  return { port, process: service, readyMs: performance.now() - startedMs, stop };
}

async function waitUntilReady(process: ProcessGroup, url: string, startedMs: number): Promise<void> {
  for (;;) {
    const isReady = await fetch(url).then(
      (answer) => answer.ok,
      () => false, // It does not listen yet.
    );
    if (isReady) return;
    if (!process.isRunning() || performance.now() - startedMs > READY_MAX_MS)
      throw new E2eError("BENCHMARK_FAILED", `Cannot start the account service: ${process.lastLines().join("\n")}`);
    await delay(READY_INTERVAL_MS);
  }
}
