// The state-of-the-world protocol for one type on one stream: what a request means, and whether
// there is something to send. Pure; pod-stream.ts obeys. RateLimitConfig is a full-state type: a
// response replaces everything that the client has of what it wants, and an absent resource is a
// deleted one.
import type { DiscoveryRequest } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";

import type { Snapshot } from "../snapshot/snapshot.ts";
import { growthOf, isWildcard, nextSubscription, type Subscription } from "./subscription.ts";

/**
 * Longest rejection text that is taken in, in characters: it goes to the log and to the status
 * page, and is kept in several places. Cut here and nowhere else.
 */
const MESSAGE_MAX = 4096;

/** A response that was sent. */
export interface SentResponse {
  readonly nonce: string;
  /** Its version; once it is answered also that of what was withheld from the client since. */
  readonly version: string;
  /** Digest of every resource that the client may have from it, by name. */
  readonly digests: ReadonlyMap<string, string>;
  /** Whether the client has accepted or rejected it. */
  readonly isAnswered: boolean;
}

/** Everything the protocol remembers of one type on one stream. */
export interface TypeState {
  /** undefined before the first request. */
  readonly subscription: Subscription | undefined;
  /** The last response; undefined before the first one. */
  readonly sent: SentResponse | undefined;
  /** What the client asked for since, and must be sent even if it did not change. */
  readonly owed: "all" | ReadonlySet<string>;
}

/** What a request means. */
export type Meaning =
  /**
   * Asks for resources: the first request of a stream, whatever nonce and version it brings along
   * from another stream, or one before any response.
   */
  | { readonly kind: "subscribe" }
  /** Answers an older response than the last one: the protocol says to ignore it wholly. */
  | { readonly kind: "stale" }
  /** Accepts the last response. */
  | { readonly kind: "ack"; readonly version: string }
  /** Rejects the last response. */
  | { readonly kind: "nack"; readonly version: string; readonly message: string }
  /**
   * Comes after the answer to the last response, or says neither yes nor no: it can only change the
   * names.
   */
  | { readonly kind: "update" };

/** Nothing has happened. */
export const NEW_TYPE: TypeState = { subscription: undefined, sent: undefined, owed: new Set() };

/** Takes in a request. */
export function receiveRequest(
  state: TypeState,
  request: DiscoveryRequest,
): { readonly state: TypeState; readonly meaning: Meaning } {
  const meaning = classifyRequest(state.sent, request);
  if (meaning.kind === "stale") return { state, meaning };
  const subscription = nextSubscription(state.subscription, request.resourceNames);
  const owed = mergeOwed(state.owed, growthOf(state.subscription, subscription), subscription);
  const isAnswer = meaning.kind === "ack" || meaning.kind === "nack";
  const sent = state.sent !== undefined && isAnswer ? { ...state.sent, isAnswered: true } : state.sent;
  return { state: { subscription, sent, owed }, meaning };
}

/** What a request means after the response `sent`. */
export function classifyRequest(sent: SentResponse | undefined, request: DiscoveryRequest): Meaning {
  if (sent === undefined) return { kind: "subscribe" };
  if (request.responseNonce !== sent.nonce) return { kind: "stale" };
  if (sent.isAnswered) return { kind: "update" };
  // The presence of an error is the rejection: the pods of the field leave its code at 0 and fill
  // in the message only.
  if (request.errorDetail !== undefined)
    return { kind: "nack", version: sent.version, message: cut(request.errorDetail.message) };
  return request.versionInfo === sent.version ? { kind: "ack", version: sent.version } : { kind: "update" };
}

/** Whether something must be sent now, and if so which names: undefined for all. */
export type NextResponse =
  { readonly send: false } | { readonly send: true; readonly names: ReadonlySet<string> | undefined };

/**
 * What to send when `snapshot` is in force. A rejected version is not sent again: only other
 * content is.
 */
export function nextResponse({ subscription, sent, owed }: TypeState, snapshot: Snapshot): NextResponse {
  if (subscription === undefined) return { send: false };
  if (isWildcard(subscription)) {
    const isNews = sent === undefined || owed === "all" || sent.version !== snapshot.version;
    return isNews ? { send: true, names: undefined } : { send: false };
  }
  const names = [...subscription.names];
  const isOwed = names.some((name) => (owed === "all" || owed.has(name)) && snapshot.digests.has(name));
  // Names that do not exist are no news until they do; names that are gone are, once.
  const isChanged = names.some((name) => sent?.digests.get(name) !== snapshot.digests.get(name));
  return isOwed || isChanged ? { send: true, names: subscription.names } : { send: false };
}

/** The state after a response from `snapshot` was sent under `nonce`. */
export function afterSending(
  state: TypeState,
  snapshot: Snapshot,
  response: { readonly nonce: string; readonly names: ReadonlySet<string> | undefined },
): TypeState {
  const { nonce, names } = response;
  const digests =
    names === undefined ? snapshot.digests : new Map([...snapshot.digests].filter(([name]) => names.has(name)));
  return { ...state, sent: { nonce, version: snapshot.version, digests, isAnswered: false }, owed: new Set() };
}

/**
 * The state after `snapshot` was kept from a client that has answered all it was sent, because it
 * rejected that version before.
 */
export function afterWithholding(state: TypeState, { version }: Snapshot): TypeState {
  return state.sent === undefined ? state : { ...state, sent: { ...state.sent, version } };
}

/** What is owed after one more request; what is no longer wanted is no longer owed. */
function mergeOwed(
  before: TypeState["owed"],
  growth: TypeState["owed"],
  subscription: Subscription,
): TypeState["owed"] {
  if (isWildcard(subscription)) return before === "all" || growth === "all" ? "all" : new Set();
  const wasOwed = before === "all" ? subscription.names : before;
  return new Set([...subscription.names].filter((name) => wasOwed.has(name) || (growth !== "all" && growth.has(name))));
}

function cut(text: string): string {
  return text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text;
}
