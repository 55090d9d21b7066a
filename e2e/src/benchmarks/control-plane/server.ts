// The control plane of its benchmark: the real program as a child, with its default settings except
// for addresses.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { E2eError } from "../../errors.ts";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { reservePort } from "@weir/testing/reserve-ports";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { type ProcessGroup, startProcess } from "@weir/dev/processes/process-group";
import { readRollout, type Rollout } from "../../parts/replica.ts";
import { cpuTimeMs } from "../cpu-time.ts";

/** Longest wait for the program to be ready, in milliseconds. */
const READY_TIMEOUT_MS = 60_000;

/** How to start one. */
export interface ControlPlaneOptions {
  readonly root: string;
  readonly path: string;
  /** The settings of its source. */
  readonly source: Readonly<Record<string, string>>;
  /** Undefined: plaintext. */
  readonly certificates?: DevelopmentCertificates | undefined;
  readonly adsPort: number;
}

/** Starts a control plane; waitUntilReady() waits for it. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<MeasuredControlPlane> {
  const { certificates, adsPort } = options;
  const httpPort = await reservePort();
  const env = {
    PATH: options.path,
    LOG_LEVEL: "error",
    ...options.source,
    ADS_HOST: STACK_HOST,
    ADS_PORT: String(adsPort),
    HTTP_HOST: STACK_HOST,
    HTTP_PORT: String(httpPort),
    SHUTDOWN_DRAIN: "0s",
    ...(certificates === undefined
      ? { ADS_PLAINTEXT: "true" }
      : {
          ADS_TLS_CERT: certificates.controlPlane.cert,
          ADS_TLS_KEY: certificates.controlPlane.key,
          ADS_TLS_CLIENT_CACERT: certificates.ca.cert,
        }),
  };
  const startedMs = Date.now();
  const command = join(options.root, "node_modules", ".bin", "weir-control-plane");
  const program = await startProcess({ name: "weir-control-plane", command, env });
  return new MeasuredControlPlane(program, startedMs, `http://${STACK_HOST}:${httpPort}`);
}

/** A running control plane. */
export class MeasuredControlPlane {
  /** When its process was started, in milliseconds since the epoch. */
  readonly startedMs: number;
  readonly #process: ProcessGroup;
  readonly #url: string;

  constructor(process: ProcessGroup, startedMs: number, url: string) {
    this.startedMs = startedMs;
    this.#process = process;
    this.#url = url;
  }

  /** Largest resident memory so far, in MiB. */
  peakMemoryMib(): number {
    const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#process.pid}/status`, "utf8"));
    if (line === null)
      throw new E2eError("BENCHMARK_FAILED", "The kernel does not report the resident memory of the control plane");
    return Number(line[1]) / 1024;
  }

  /** Processor time so far, in seconds. */
  cpuSeconds(): number {
    return cpuTimeMs(this.#process.pid) / 1000;
  }

  /** How many pods have accepted the active configuration, of how many, by its own report. */
  async podCounts(): Promise<{ readonly total: number; readonly accepted: number }> {
    const { fleets = [] } = (await readRollout(this.#url)) as Partial<Rollout>;
    const sum = (count: "total" | "accepted"): number =>
      fleets.reduce((total, { pods }) => total + (pods?.[count] ?? 0), 0);
    return { total: sum("total"), accepted: sum("accepted") };
  }

  /** Resolves when pods can be served; throws STACK_NOT_READY when that takes too long. */
  waitUntilReady(): Promise<void> {
    return this.#process.waitUntilReady(`${this.#url}/readyz`, READY_TIMEOUT_MS);
  }

  /** Kills it as a crash would. */
  kill(): void {
    this.#process.kill();
  }

  async stop(): Promise<void> {
    await this.#process.stop("SIGTERM", 5000);
  }
}
