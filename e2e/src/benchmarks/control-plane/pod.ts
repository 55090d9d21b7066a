// Simulated pods: a scripted pod that skips resources and keeps when it ACKed each response, or NACKs the first ones
// by name; and one of the incremental variant.
import { DeltaPod } from "@weir/harness/ads/delta-pod";
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
  /** Bytes of the response besides its resources; of an incremental pod. */
  readonly extraBytes?: number;
  /** Bytes that an incremental pod has sent on this stream, and how many resources it holds. */
  readonly sentBytes?: number;
  readonly held?: number;
}

/** How a pod connects and answers. */
export interface BenchmarkPodOptions extends Pick<ScriptedPodOptions, "host" | "tls" | "backoffMs" | "windowBytes"> {
  /** Default: bench. */
  readonly fleet?: string;
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
    const { rejects = [], onArrival, fleet = "bench", ...connection } = options;
    const left = [...rejects];
    super(ports, {
      nodeId: `${fleet}/pod-${number}`,
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

/** A pod of the incremental variant; what it arrives at is each complete set. It connects again with what it holds. */
export class BenchmarkDeltaPod {
  readonly arrivals: Arrival[] = [];
  readonly #options: BenchmarkPodOptions;
  readonly #number: number;
  readonly #ports: readonly number[];
  #pod: DeltaPod | undefined;
  #losses = 0;

  constructor(number: number, ports: readonly number[], options: BenchmarkPodOptions) {
    this.#number = number;
    this.#ports = ports;
    this.#options = options;
    this.#open();
  }

  #open(): void {
    const { tls, onArrival, fleet = "bench", backoffMs: [shortestMs, longestMs] = [100, 500] } = this.#options;
    let isComplete = false;
    const pod = new DeltaPod(this.#ports[this.#losses % this.#ports.length]!, {
      nodeId: `${fleet}/pod-${this.#number}`,
      tls,
      ...(this.#pod && { held: this.#pod.set }),
      onAnswered: () => {
        isComplete ||= pod.isComplete; // Once: hashing for each edit would cost more than the edit does.
        if (!isComplete) return;
        const { response, sizeBytes, atMs } = pod.arrivals.at(-1)!;
        const bytes = response.resources.reduce((sum, { resource }) => sum + (resource?.value.length ?? 0), 0);
        this.arrivals.push({
          version: response.systemVersionInfo,
          sizeBytes,
          atMs,
          waitedMs: 0,
          extraBytes: sizeBytes - bytes,
          sentBytes: pod.sentBytes,
          held: pod.held.size,
        });
        pod.arrivals.length = 0;
        onArrival?.();
      },
      onEnded: () => {
        this.#losses += 1;
        setTimeout(() => this.#open(), shortestMs + Math.random() * (longestMs - shortestMs));
      },
    });
    this.#pod = pod;
  }
}
