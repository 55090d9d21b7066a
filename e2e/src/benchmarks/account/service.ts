// The built account service as its benchmark runs it: on free ports of this machine, with data of its
// own and without limits.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { machineEnv } from "@weir/dev/setup/programs";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { E2eError } from "../../errors.ts";
import { launcher } from "@weir/harness/processes/programs";
import { startProcess } from "@weir/harness/processes/start-process";

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
  stop(): Promise<void>;
}

/** Starts services with data below `folder`; `onStarted` gets what stops each. */
export class ServiceStarter {
  readonly #folder: string;
  readonly #onStarted: (stop: () => Promise<void>) => void;

  constructor(folder: string, onStarted: (stop: () => Promise<void>) => void) {
    this.#folder = folder;
    this.#onStarted = onStarted;
  }

  /** Starts one; `env` adds to its settings. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<AccountService> {
    const [port = 0, metricsPort = 0] = await reservePorts(2);
    const startedMs = performance.now();
    const process = await startProcess({
      name: "account service",
      command: launcher("weir-account"),
      env: {
        ...machineEnv(globalEnv()),
        HOST: STACK_HOST,
        PORT: String(port),
        METRICS_HOST: STACK_HOST,
        METRICS_PORT: String(metricsPort),
        DATA_DIR: mkdtempSync(join(this.#folder, "data-")),
        LOG_LEVEL: "error",
        SHUTDOWN_DRAIN: "0s",
        RATE_LIMIT_FAILURE: "open", // Without a rate limit service: no limits.
        ...env,
      },
    });
    const stop = async (): Promise<void> => {
      await process.stop("SIGTERM", 5000);
    };
    this.#onStarted(stop);
    await waitUntilReady(process, `http://${STACK_HOST}:${metricsPort}/readyz`, startedMs);
    return { port, process, readyMs: performance.now() - startedMs, stop };
  }
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

function globalEnv(): NodeJS.ProcessEnv {
  // eslint-disable-next-line no-restricted-syntax -- the program needs the PATH of the machine
  return process.env;
}
