// A scripted pod of the incremental variant: it answers as its script does, and connects to the next replica with what
// it holds when it loses its stream.
import { create, fromBinary } from "@bufbuild/protobuf";
import {
  type DeltaDiscoveryResponse,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type RateLimitConfig,
  RateLimitConfigSchema,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

import { DeltaPod } from "./delta-pod.ts";
import { ACK, type Answer, type ScriptedPodOptions } from "./scripted-pod.ts";

/** The client; it connects immediately. */
export class IncrementalPod {
  /** On all its streams. */
  readonly responses: DeltaDiscoveryResponse[] = [];
  /** The texts of its NACKs. */
  readonly nacks: string[] = [];
  /** Ports of the replicas that it connects to in turn. */
  ports: readonly number[];
  answer: Answer;
  losses = 0;
  readonly #options: ScriptedPodOptions;
  #pod: DeltaPod;
  #timer: NodeJS.Timeout | undefined;

  constructor(port: number, options: ScriptedPodOptions) {
    this.ports = [port];
    this.answer = options.answer ?? ACK;
    this.#options = options;
    this.#pod = this.#open();
  }

  /** The configurations that it has ACKed. */
  get configs(): readonly RateLimitConfig[] {
    return [...this.#pod.resources.values()].map(({ resource }) => fromBinary(RateLimitConfigSchema, resource!.value));
  }

  /** The version of what it has. */
  get ackedVersion(): string {
    return this.#pod.version;
  }

  /** Loses the connection, as when a node in between fails. */
  cut(): void {
    this.#pod.close();
    this.#lost();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#pod.close();
  }

  #open(before?: DeltaPod): DeltaPod {
    const { nodeId = "default", metadata } = this.#options;
    return new DeltaPod(this.ports[this.losses % this.ports.length]!, {
      nodeId,
      ...(metadata && { metadata }),
      ...(before && { held: before.set }),
      answer: (response) => this.#answer(response),
      onEnded: () => this.#lost(),
    });
  }

  #answer(response: DeltaDiscoveryResponse): string | undefined {
    this.responses.push(response);
    const resources = response.resources.flatMap(({ resource }) => resource ?? []);
    const message = this.answer(create(DiscoveryResponseSchema, { resources }), 0);
    if (message !== undefined && message !== "") this.nacks.push(message);
    return message;
  }

  #lost(): void {
    this.losses += 1;
    const [shortestMs] = this.#options.backoffMs ?? [100];
    this.#timer = setTimeout(() => (this.#pod = this.#open(this.#pod)), shortestMs);
  }
}
