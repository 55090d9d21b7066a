// The open streams of a replica, and how many there may be: in all, and of one client.
import { status } from "@grpc/grpc-js";
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";

import type { CallRefusal } from "./ads-security.ts";
import type { CertificateFleet } from "./certificate-fleet.ts";
import { addressOf, type PeerCall, peerOf } from "./peer-address.ts";

/** Most streams in all, and of one client. */
export interface StreamBounds {
  /** For tests. */
  readonly streamsMax?: number;
  readonly streamsPerIdentityMax: number;
}

/** What refusals are reported to. */
export interface OpenStreamsDeps {
  readonly warnings: RateLimitedLog;
  readonly refused: (reason: "too-many-streams" | "too-many-streams-of-identity") => void;
}

/** Most streams in all. A pod needs one. */
export const STREAMS_MAX = 10_000;

/**
 * Names the client that streams are counted for. Not the fleet: a tenant may have certificates for many, and
 * would have as many parts of the replica.
 */
export function streamIdentity(call: PeerCall, granted: CertificateFleet | undefined): string {
  return granted === undefined ? `address ${addressOf(call)}` : `namespace ${granted.namespace}`;
}

/** The streams by their call. */
export class OpenStreams<Call extends PeerCall, Stream> {
  readonly #deps: OpenStreamsDeps;
  readonly #bounds: StreamBounds;
  readonly #open = new Map<Call, { readonly stream: Stream; readonly identity: string }>();
  /** Numbers of them, above 0. */
  readonly #counts = new Map<string, number>();

  constructor(deps: OpenStreamsDeps, bounds: StreamBounds) {
    this.#deps = deps;
    this.#bounds = bounds;
  }

  /** Number of open streams. */
  get size(): number {
    return this.#open.size;
  }

  /** Their calls. */
  calls(): readonly Call[] {
    return [...this.#open.keys()];
  }

  /** The streams. */
  *streams(): Iterable<Stream> {
    for (const { stream } of this.#open.values()) yield stream;
  }

  /** Whether the stream of a call is open. */
  has(call: Call): boolean {
    return this.#open.has(call);
  }

  /** Refuses any call when the replica is full. */
  refuseAny(call: PeerCall): CallRefusal | undefined {
    const streams = this.#open.size;
    if (streams < (this.#bounds.streamsMax ?? STREAMS_MAX)) return undefined;
    this.#deps.refused("too-many-streams");
    this.#deps.warnings.warn("Refused a call on the port for pods, the replica has its maximum of streams", {
      peer: peerOf(call),
      streams,
    });
    return { code: status.RESOURCE_EXHAUSTED, details: `this replica has ${streams} streams already` };
  }

  /** Refuses a further stream of a client that has its part of the replica. */
  refuseOf(call: PeerCall, identity: string): CallRefusal | undefined {
    const streams = this.#counts.get(identity) ?? 0;
    if (streams < this.#bounds.streamsPerIdentityMax) return undefined;
    this.#deps.refused("too-many-streams-of-identity");
    const message = "Refused a pod, its namespace or address has its maximum of streams on this replica";
    this.#deps.warnings.warn(message, { peer: peerOf(call), identity, streams }, `${message}: ${identity}`);
    const details = `the ${identity} has its maximum of streams on this replica, ADS_STREAMS_PER_IDENTITY=${streams}`;
    return { code: status.RESOURCE_EXHAUSTED, details };
  }

  /** Adds the stream of a call. */
  add(call: Call, stream: Stream, identity: string): void {
    this.#open.set(call, { stream, identity });
    this.#counts.set(identity, (this.#counts.get(identity) ?? 0) + 1);
  }

  /** Removes it, if it is there. */
  remove(call: Call): void {
    const identity = this.#open.get(call)?.identity;
    if (identity === undefined) return;
    this.#open.delete(call);
    const left = (this.#counts.get(identity) ?? 0) - 1;
    if (left > 0) this.#counts.set(identity, left);
    else this.#counts.delete(identity);
  }
}
