// The two variants of the protocol as a stream sees them: what requests mean, what the pod holds, and what to
// send it.
import type {
  DeltaDiscoveryRequest,
  DiscoveryRequest,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

import type { SentRevisions } from "../../pods/pod-revisions.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";

/** Longest text of a NACK, in characters: logs and reports show it. Cut here and nowhere else. */
const MESSAGE_MAX = 4096;

/** Words of a pod for a limit that its image does not know, which is sent with this unit for that purpose. */
const EXTENDED_UNIT_ERROR = `invalid rate limit unit '${RateLimitUnit.EXTENDED}'`;

const NEWER_IMAGE =
  "the pod needs a newer image: its own knows no multiples of units, algorithms, time zones and lists of limits";

/** A request of either variant. */
export type PodRequest = DiscoveryRequest | DeltaDiscoveryRequest;

/** The meaning of a request. */
export type Meaning =
  /** A request before any response, whatever nonce and version it carries from another stream. */
  | { readonly kind: "subscribe" }
  /** An answer to an older response than the last one: the protocol says to ignore it. */
  | { readonly kind: "stale" }
  /** ACKs the last response, after which the pod holds this. */
  | { readonly kind: "ack"; readonly sent: SentRevisions }
  /** NACKs the last response; the names are those of the resources in it, undefined for all. */
  | { readonly kind: "nack"; readonly sent: SentRevisions; readonly message: string }
  /** Comes after the answer to the last response, or is no answer: it can only change the names. */
  | { readonly kind: "update" }
  /** Breaks the rules of the protocol, and ends the stream. */
  | { readonly kind: "violation"; readonly message: string };

/** A response to send. */
export interface DueResponse {
  /** That of what the pod holds when it has ACKed this. */
  readonly version: string;
  /** Without the fields of one stream. Must not be changed. */
  readonly pieces: readonly Buffer[];
  /** It is being sent with this nonce. */
  readonly sent: (nonce: string) => void;
}

/** The state of one variant on one stream. */
export interface Variant {
  /** The revisions that the pod holds, as far as it has said. */
  readonly held: SentRevisions | undefined;
  /** The resources that it subscribes to: undefined before its first request. */
  readonly wants: "all" | ReadonlySet<string> | undefined;
  /** True if it has answered the last response. */
  readonly hasAnswered: boolean;
  /** Takes a request of the variant, for our type. */
  receive(request: PodRequest): Meaning;
  /** The response to send while `snapshot` is what the pod should have; undefined: none. */
  next(snapshot: Snapshot): DueResponse | undefined;
}

/** How many names a request lists, not counting what the pod holds. */
export function namesIn(request: PodRequest): number {
  if ("resourceNames" in request) return request.resourceNames.length;
  return request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length;
}

/** The text of a NACK as it is kept: cut, and with what it means where the words of the pod do not say it. */
export function nackText(text: string): string {
  const explained = text.replace(EXTENDED_UNIT_ERROR, `$& (${NEWER_IMAGE})`);
  return explained.length > MESSAGE_MAX ? `${explained.slice(0, MESSAGE_MAX)}…` : explained;
}
