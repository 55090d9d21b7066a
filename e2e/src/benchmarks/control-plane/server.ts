// The control plane as its benchmark runs it: the real program as a child over a folder of
// manifests, with its default settings but for addresses.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { E2eError } from "../../errors.ts";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { reservePort } from "@weir/testing/reserve-ports";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { type ProcessGroup, startProcess } from "@weir/dev/processes/process-group";
import { waitUntilReady } from "@weir/dev/ready";
import { cpuTimeMs } from "../cpu-time.ts";

/** Longest wait for the program to be ready, in milliseconds. */
const READY_TIMEOUT_MS = 60_000;

/** A running control plane. */
export interface MeasuredControlPlane {
  readonly adsPort: number;
  /** When its process was started, in milliseconds since the epoch. */
  readonly startedMs: number;
  /** Largest resident memory so far, in MiB. */
  peakMemoryMib(): number;
  /** Processor time so far, in seconds. */
  cpuSeconds(): number;
  /** How many pods have accepted what is in force, of how many, by its own report. */
  podCounts(): Promise<{ readonly total: number; readonly accepted: number }>;
  /** Resolves when pods can be served; throws STACK_NOT_READY when that takes too long. */
  waitUntilReady(): Promise<void>;
  /** Kills it as a crash would. */
  kill(): void;
  stop(): Promise<void>;
}

/** How to start one. */
export interface ControlPlaneOptions {
  readonly root: string;
  readonly path: string;
  /** Where its resources come from, as settings. */
  readonly source: Readonly<Record<string, string>>;
  /** Undefined: plaintext. */
  readonly certificates?: DevelopmentCertificates | undefined;
  readonly adsPort?: number;
}

/** Starts a control plane; it need not be ready yet. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<MeasuredControlPlane> {
  const { certificates } = options;
  const adsPort = options.adsPort ?? (await reservePort());
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
  const program = await startProcess({ name: "weir-control-plane", command, args: [], env });
  const url = `http://${STACK_HOST}:${httpPort}`;
  return {
    adsPort,
    startedMs,
    peakMemoryMib: () => peakMemoryMib(program),
    cpuSeconds: () => cpuTimeMs(program.pid) / 1000,
    podCounts: () => podCounts(url),
    waitUntilReady: () => waitUntilReady(program, `${url}/readyz`, READY_TIMEOUT_MS),
    kill: () => program.kill(),
    stop: async () => {
      await program.stop("SIGTERM", 5000);
    },
  };
}

function peakMemoryMib(program: ProcessGroup): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${program.pid}/status`, "utf8"));
  if (line === null)
    throw new E2eError("BENCHMARK_FAILED", "The kernel does not tell the resident memory of the control plane");
  return Number(line[1]) / 1024;
}

async function podCounts(url: string): Promise<{ readonly total: number; readonly accepted: number }> {
  const response = await fetch(`${url}/weir.rollout.v1.RolloutService/GetRollout`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  const { rollout } = (await response.json()) as {
    readonly rollout: { readonly fleets?: readonly { readonly pods?: Partial<Counts> }[] };
  };
  const fleets = rollout.fleets ?? [];
  const sum = (read: (counts: Partial<Counts>) => number | undefined): number =>
    fleets.reduce((total, { pods }) => total + (read(pods ?? {}) ?? 0), 0);
  return { total: sum(({ total }) => total), accepted: sum(({ accepted }) => accepted) };
}

interface Counts {
  readonly total: number;
  readonly accepted: number;
}
