// A pod of either variant at the other end of a stream, without a network: it answers each response immediately, and
// keeps what it ACKed. Only tests import it.
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { silentLog } from "@weir/common/log/log";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import { PodRegistry, type PodState } from "../../pods/pod-registry.ts";
import type { PublisherOfStreams } from "./fake-ads-stream.suite.ts";
import { type PodChannel, PodStream } from "./pod-stream.ts";
import { SendSemaphore } from "./send-semaphore.ts";

/** The variants of a stream. */
export type VariantKind = "aggregated" | "delta";

/** The rules that the pod cannot load, and how it is connected. */
export interface AnsweringPodOptions {
  readonly kind: VariantKind;
  /** Rules that it NACKs, as `a=1`. */
  readonly refuses?: readonly string[];
  readonly clock?: () => number;
  readonly snapshotMaxBytes?: number;
}

interface Received {
  readonly version: string;
  readonly nonce: string;
  /** Limits by name. */
  readonly changed: ReadonlyMap<string, number>;
  /** Undefined: all that has not changed. */
  readonly removed: readonly string[] | undefined;
}

/** The pod; it subscribes immediately. */
export class AnsweringPod implements PodChannel {
  readonly peer = "192.0.2.1:4711";
  /** The content of each response: `a=1`, and `-a` for what it removes by name. */
  readonly sent: string[] = [];
  refuses: readonly string[];
  /** The text of the NACK of a resource that it cannot load. */
  nackText = (name: string): string => `${name}: no`;
  readonly #kind: VariantKind;
  readonly #pods: PodRegistry;
  readonly #stream: PodStream;
  #held: ReadonlyMap<string, number> = new Map();
  #ackedVersion = "";

  constructor(
    publisher: PublisherOfStreams,
    { kind, refuses = [], clock = () => 0, snapshotMaxBytes = 4_000_000 }: AnsweringPodOptions,
  ) {
    this.#kind = kind;
    this.refuses = refuses;
    this.#pods = new PodRegistry({ clock });
    const deps = {
      channel: this,
      publisher,
      pods: this.#pods,
      clock,
      semaphore: new SendSemaphore(),
      log: silentLog(),
    };
    this.#stream = new PodStream(deps, { identifier: "replica-1", kind, snapshotMaxBytes });
    publisher.onPublished(() => this.#stream.published());
    this.#request({});
  }

  /** The rules that it has. */
  get rules(): string {
    return textOf(this.#held);
  }

  /** Its state as the control plane knows it. */
  get state(): PodState {
    return this.#pods.list()[0]!;
  }

  send(pieces: readonly Buffer[], written: () => void): void {
    const received = this.#decode(Buffer.concat(pieces));
    const { changed, removed = [], version, nonce } = received;
    this.sent.push([textOf(changed), ...removed.map((name) => `-${shortName(name)}`)].join(" ").trim());
    written();
    const refused = [...changed].find((rule) => this.refuses.includes(ruleText(rule)));
    if (refused === undefined) {
      this.#held = received.removed === undefined ? changed : patched(this.#held, changed, removed);
      this.#ackedVersion = version;
    }
    this.#request({ nonce, ...(refused && { error: this.nackText(refused[0]) }) });
  }

  hung(): void {
    throw new Error("It has no heartbeat");
  }

  close(): void {
    this.#stream.ended();
  }

  #request({ nonce = "", error }: { readonly nonce?: string; readonly error?: string }): void {
    const fields = {
      typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
      responseNonce: nonce,
      ...(error !== undefined && { errorDetail: { message: error } }),
    } satisfies MessageInitShape<typeof DeltaDiscoveryRequestSchema>;
    this.#stream.receive(
      this.#kind === "delta"
        ? create(DeltaDiscoveryRequestSchema, fields)
        : create(DiscoveryRequestSchema, { ...fields, versionInfo: this.#ackedVersion }),
    );
  }

  #decode(bytes: Buffer): Received {
    if (this.#kind === "delta") {
      const { resources, removedResources, systemVersionInfo, nonce } = fromBinary(DeltaDiscoveryResponseSchema, bytes);
      const changed = rulesOf(resources.map(({ resource }) => resource!.value));
      return { version: systemVersionInfo, nonce, changed, removed: removedResources };
    }
    const { resources, versionInfo, nonce } = fromBinary(DiscoveryResponseSchema, bytes);
    const changed = rulesOf(resources.map(({ value }) => value));
    return { version: versionInfo, nonce, changed, removed: undefined };
  }
}

function rulesOf(values: readonly Uint8Array[]): ReadonlyMap<string, number> {
  const configs = values.map((value) => fromBinary(RateLimitConfigSchema, value));
  return new Map(
    configs.map(({ name, descriptors }) => [name, descriptors[0]?.rateLimit?.requestsPerUnit ?? 0] as const),
  );
}

function patched(
  held: ReadonlyMap<string, number>,
  changed: ReadonlyMap<string, number>,
  removed: readonly string[],
): ReadonlyMap<string, number> {
  const after = new Map([...held, ...changed]);
  for (const name of removed) after.delete(name);
  return after;
}

function textOf(rules: ReadonlyMap<string, number>): string {
  return [...rules]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(ruleText)
    .join(" ");
}

function ruleText([name, limit]: readonly [string, number]): string {
  return `${shortName(name)}=${limit}`;
}

function shortName(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}
