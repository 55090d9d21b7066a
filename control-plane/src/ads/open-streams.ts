// The open streams of a replica, and how many there may be: in all, and of one client.
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { GrpcStatus } from "@weir/http2/grpc/status";

import { addressOf, type AdsPeer } from "./ads-peer.ts";
import type { CallRefusal } from "./ads-security.ts";
import type { CertificateFleet } from "./certificate-fleet.ts";

/** Most streams in all, and of one client. */
export interface StreamBounds {
  /** For tests. */
  readonly streamsMax?: number;
  readonly streamsPerIdentityMax: number;
}

export interface OpenStreamsDeps {
  readonly warnings: RateLimitedLog;
  readonly refused: (reason: "too-many-streams" | "too-many-streams-of-identity") => void;
}

/** Most streams in all. A pod needs one. */
export const STREAMS_MAX = 10_000;

/**
 * Names the client that streams are counted for. Not the fleet: a tenant may have certificates for many, and
 * would have as many parts of the replica. Undefined without certificates: a whole cluster may have the
 * address of one proxy.
 */
export function streamIdentity(peer: AdsPeer, granted: CertificateFleet | undefined): string | undefined {
  if (granted !== undefined) return `namespace ${granted.namespace}`;
  return peer.certificate === undefined ? undefined : `address ${addressOf(peer)}`;
}

/** The streams, which are counted until they are closed. */
export class OpenStreams<Stream> {
  readonly #deps: OpenStreamsDeps;
  readonly #bounds: StreamBounds;
  /** Each with its identity. */
  readonly #open = new Map<Stream, string | undefined>();
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

  list(): readonly Stream[] {
    return [...this.#open.keys()];
  }

  /** Refuses any call when the replica is full. */
  refuseAny(peer: AdsPeer): CallRefusal | undefined {
    const streams = this.#open.size;
    if (streams < (this.#bounds.streamsMax ?? STREAMS_MAX)) return undefined;
    this.#deps.refused("too-many-streams");
    this.#deps.warnings.warn("Refused a call on the port for pods, the replica has its maximum of streams", {
      peer: peer.address,
      streams,
    });
    return { code: GrpcStatus.RESOURCE_EXHAUSTED, details: `this replica has ${streams} streams already` };
  }

  /** Refuses a further stream of a client that has its part of the replica. */
  refuseOf(peer: AdsPeer, identity: string | undefined): CallRefusal | undefined {
    const streams = identity === undefined ? 0 : (this.#counts.get(identity) ?? 0);
    if (identity === undefined || streams < this.#bounds.streamsPerIdentityMax) return undefined;
    this.#deps.refused("too-many-streams-of-identity");
    const message = "Refused a pod, its namespace or address has its maximum of streams on this replica";
    this.#deps.warnings.warn(message, { peer: peer.address, identity, streams }, `${message}: ${identity}`);
    const details = `the ${identity} has its maximum of streams on this replica, ADS_STREAMS_PER_IDENTITY=${streams}`;
    return { code: GrpcStatus.RESOURCE_EXHAUSTED, details };
  }

  add(stream: Stream, identity: string | undefined): void {
    this.#open.set(stream, identity);
    if (identity !== undefined) this.#counts.set(identity, (this.#counts.get(identity) ?? 0) + 1);
  }

  /** Removes it, if it is there. */
  remove(stream: Stream): void {
    const identity = this.#open.get(stream);
    this.#open.delete(stream);
    if (identity === undefined) return;
    const left = (this.#counts.get(identity) ?? 0) - 1;
    if (left > 0) this.#counts.set(identity, left);
    else this.#counts.delete(identity);
  }
}
