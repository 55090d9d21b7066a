// The control plane of its benchmark: a replica with its default settings except for addresses, and what it costs.
import { readFileSync } from "node:fs";

import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { E2eError } from "../../errors.ts";
import { anyPorts } from "@weir/harness/processes/programs";
import { type Replica, type Rollout, startReplica } from "@weir/harness/weir/replica";
import { cpuTimeMs } from "../cpu-time.ts";

/** The settings of a control plane without TLS. */
const PLAINTEXT = {
  ADS_PLAINTEXT: "true",
  ADS_TLS_CERT: "",
  ADS_TLS_KEY: "",
  ADS_TLS_CLIENT_CACERT: "",
  ADS_ALLOWED_SANS: "",
} as const;

/** How to start one. */
export interface ControlPlaneOptions {
  /** The settings of its source. */
  readonly source: Readonly<Record<string, string>>;
  readonly certificates: DevelopmentCertificates;
  readonly isTls: boolean;
  readonly adsPort: number;
}

/** Starts a control plane and waits until it is ready. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<MeasuredControlPlane> {
  const { source, certificates, isTls, adsPort } = options;
  const ports = { ...(await anyPorts()), ads: adsPort };
  const env = { LOG_LEVEL: "error", ...source, ...(isTls ? {} : PLAINTEXT) };
  const startedMs = Date.now();
  return new MeasuredControlPlane(await startReplica({ ports, certificates, manifests: "" }, env), startedMs);
}

/** Stops what is being started once that is there; a start that fails has cleaned up by itself. */
export function stopOnceStarted(starting: Promise<{ stop(): Promise<void> }>): () => Promise<void> {
  return () =>
    starting.then(
      (started) => started.stop(),
      () => undefined,
    );
}

/** A running control plane. */
export class MeasuredControlPlane {
  /** When its process was started, in milliseconds since the epoch. */
  readonly startedMs: number;
  readonly replica: Replica;

  constructor(replica: Replica, startedMs: number) {
    this.startedMs = startedMs;
    this.replica = replica;
  }

  /** Largest resident memory so far, in MiB. */
  peakMemoryMib(): number {
    const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.replica.process.pid}/status`, "utf8"));
    if (line === null)
      throw new E2eError("BENCHMARK_FAILED", "The kernel does not report the resident memory of the control plane");
    return Number(line[1]) / 1024;
  }

  /** Processor time so far, in seconds. */
  cpuSeconds(): number {
    return cpuTimeMs(this.replica.process.pid) / 1000;
  }

  /** How many pods have accepted the active configuration, of how many, by its own report. */
  async podCounts(): Promise<{ readonly total: number; readonly accepted: number }> {
    const { fleets = [] } = (await this.replica.rollout()) as Partial<Rollout>;
    const sum = (count: "total" | "accepted"): number =>
      fleets.reduce((total, { pods }) => total + (pods?.[count] ?? 0), 0);
    return { total: sum("total"), accepted: sum("accepted") };
  }

  async stop(): Promise<void> {
    await this.replica.process.stop("SIGTERM", 5000);
  }
}
