// The state-of-the-world protocol for one type on one stream: classifies requests and decides what
// to send. Pure. A response replaces everything that the client has; an absent resource is a
// deleted one.
import type { DiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";

import { revisionIn, type SentRevisions } from "../../pods/pod-revisions.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { growthOf, isWildcard, nextSubscription, type Subscription } from "./subscription.ts";
import { type DueResponse, type Meaning, nackText, type Variant } from "./variant.ts";

export interface SentResponse extends SentRevisions {
  readonly nonce: string;
  /** True once the client has ACKed or NACKed it. */
  readonly isAnswered: boolean;
}

/** The protocol state of one type on one stream. */
export interface TypeState {
  /** undefined before the first request. */
  readonly subscription: Subscription | undefined;
  /** The last response; undefined before the first one. */
  readonly sent: SentResponse | undefined;
  /** The response that the client ACKed last, which it serves. */
  readonly acked: SentRevisions | undefined;
  /** The response that the client NACKed last; undefined once it has ACKed another, or should have what it ACKed or is sent. */
  readonly nacked: SentRevisions | undefined;
  /** The resources that the client subscribed to since, and must be sent even if they did not change. */
  readonly owed: "all" | ReadonlySet<string>;
}

/** The state before the first request. */
const NEW_TYPE: TypeState = {
  subscription: undefined,
  sent: undefined,
  acked: undefined,
  nacked: undefined,
  owed: new Set(),
};

/** Takes a request. */
function receiveRequest(
  state: TypeState,
  request: DiscoveryRequest,
): { readonly state: TypeState; readonly meaning: Meaning } {
  const meaning = classifyRequest(state.sent, request);
  if (meaning.kind === "stale") return { state, meaning };
  const subscription = nextSubscription(state.subscription, request.resourceNames);
  const owed = mergeOwed(state.owed, growthOf(state.subscription, subscription), subscription);
  const next = { ...state, subscription, owed };
  if (state.sent === undefined || (meaning.kind !== "ack" && meaning.kind !== "nack")) return { state: next, meaning };
  const sent = { ...state.sent, isAnswered: true };
  const answers =
    meaning.kind === "ack" ? { acked: meaning.sent, nacked: undefined } : { acked: state.acked, nacked: meaning.sent };
  return { state: { ...next, sent, ...answers }, meaning };
}

/** The meaning of a request after the response `sent`. */
export function classifyRequest(sent: SentResponse | undefined, request: DiscoveryRequest): Meaning {
  if (sent === undefined) return { kind: "subscribe" };
  if (request.responseNonce !== sent.nonce) return { kind: "stale" };
  if (sent.isAnswered) return { kind: "update" };
  // The presence of an error is the NACK: pods of envoyproxy/ratelimit leave its code at 0.
  if (request.errorDetail !== undefined) return { kind: "nack", sent, message: nackText(request.errorDetail.message) };
  return request.versionInfo === sent.snapshot.version ? { kind: "ack", sent } : { kind: "update" };
}

/** The decision whether to send now, and which names: undefined for all. */
export type NextResponse =
  { readonly send: false } | { readonly send: true; readonly names: ReadonlySet<string> | undefined };

/**
 * Decides what to send while `snapshot` is what the client should have: nothing when it equals what the client
 * ACKed or NACKed last, or has been sent and not answered.
 */
function nextResponse({ subscription, sent, acked, nacked, owed }: TypeState, snapshot: Snapshot): NextResponse {
  if (subscription === undefined) return { send: false };
  const unanswered = sent?.isAnswered === false ? sent : undefined;
  const known = [unanswered, acked, nacked].flatMap((response) => response ?? []);
  if (isWildcard(subscription)) {
    const isKnown = known.some(
      (response) => response.names === undefined && response.snapshot.version === snapshot.version,
    );
    return isKnown && owed !== "all" ? { send: false } : { send: true, names: undefined };
  }
  const names = [...subscription.names];
  const isOwed = names.some((name) => (owed === "all" || owed.has(name)) && snapshot.get(name) !== undefined);
  // A name that does not exist is not sent; a name that is gone is, once.
  const isSame = (response: SentRevisions | undefined): boolean =>
    names.every((name) => revisionIn(response, name)?.digest === snapshot.get(name)?.digest);
  const isKnown = known.length === 0 ? isSame(undefined) : known.some(isSame);
  return isOwed || !isKnown ? { send: true, names: subscription.names } : { send: false };
}

/** The state after a response from `snapshot` was sent with `nonce`. */
function afterSending(
  state: TypeState,
  snapshot: Snapshot,
  { nonce, names }: { readonly nonce: string; readonly names: ReadonlySet<string> | undefined },
): TypeState {
  return { ...state, sent: { nonce, snapshot, names, isAnswered: false }, owed: new Set() };
}

/** The state-of-the-world variant on one stream. */
export class SotwVariant implements Variant {
  #state: TypeState = NEW_TYPE;

  get held(): SentRevisions | undefined {
    return this.#state.acked;
  }

  get wants(): "all" | ReadonlySet<string> | undefined {
    const { subscription } = this.#state;
    return subscription !== undefined && isWildcard(subscription) ? "all" : subscription?.names;
  }

  get hasAnswered(): boolean {
    return this.#state.sent?.isAnswered === true;
  }

  receive(request: DiscoveryRequest): Meaning {
    const { state, meaning } = receiveRequest(this.#state, request);
    this.#state = state;
    return meaning;
  }

  next(snapshot: Snapshot): DueResponse | undefined {
    const { nacked, ...state } = this.#state;
    // The content that it NACKed before is sent again if it is published again.
    if (nacked !== undefined && !nextResponse({ ...state, nacked: undefined }, snapshot).send)
      this.#state = { ...state, nacked: undefined };
    const next = nextResponse(this.#state, snapshot);
    if (!next.send) return undefined;
    const { names } = next;
    return {
      version: snapshot.version,
      get pieces() {
        return snapshot.pieces(names);
      },
      sent: (nonce) => {
        this.#state = afterSending(this.#state, snapshot, { nonce, names });
      },
    };
  }
}

/** The resources that are owed after one more request; a name that was dropped is no longer owed. */
function mergeOwed(
  before: TypeState["owed"],
  growth: TypeState["owed"],
  subscription: Subscription,
): TypeState["owed"] {
  if (isWildcard(subscription)) return before === "all" || growth === "all" ? "all" : new Set();
  const wasOwed = before === "all" ? subscription.names : before;
  return new Set([...subscription.names].filter((name) => wasOwed.has(name) || (growth !== "all" && growth.has(name))));
}
