// One simulated pod: a scripted pod that skips resources and keeps when it ACKed each response, or NACKs the
// first ones by name.
import { createHeadReader } from "@weir/harness/ads/head-reader";
import { ScriptedPod, type ScriptedPodOptions } from "@weir/harness/ads/scripted-pod";

/** A response that a pod has received. */
export interface Arrival {
  readonly version: string;
  readonly sizeBytes: number;
  /** When the pod ACKed it, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The back-off of the pod before the stream of the response, in milliseconds. */
  readonly waitedMs: number;
}

/** How a pod connects and answers. */
export interface BenchmarkPodOptions extends Pick<ScriptedPodOptions, "host" | "tls" | "backoffMs" | "windowBytes"> {
  /** Names of the resources that it NACKs, one by one, before it ACKs. */
  readonly rejects?: readonly string[];
  /** Receives every response that it ACKs. */
  readonly onArrival?: () => void;
}

/** A pod; it connects immediately. */
export class BenchmarkPod extends ScriptedPod {
  /** Every response that it ACKed so far. */
  readonly arrivals: Arrival[] = [];

  constructor(number: number, ports: readonly number[], options: BenchmarkPodOptions) {
    const { rejects = [], onArrival, ...connection } = options;
    const left = [...rejects];
    super(ports, {
      nodeId: `bench/pod-${number}`,
      ...connection,
      createReader: createHeadReader,
      answer: ({ versionInfo: version }, sizeBytes) => {
        const rejected = left.shift();
        if (rejected !== undefined) return `${rejected}: unknown field`;
        this.arrivals.push({ version, sizeBytes, atMs: Date.now(), waitedMs: this.backoffMs });
        onArrival?.();
        return "";
      },
    });
  }
}
