// How connections live and end: keepalive, greatest age, bounds, and the order in which streams end
// when the replica stops.
import type { Http2Limits } from "@weir/http2/limits/limits";

import type { HeartbeatOptions } from "./stream/heartbeat.ts";

/**
 * How often a connection is pinged, and how long the answer may take, in milliseconds: a dead pod is
 * gone within their sum. gRPC clients answer any number of pings.
 */
const KEEPALIVE_INTERVAL_MS = 5000;
const KEEPALIVE_TIMEOUT_MS = 5000;

/** How long streams may continue on a connection of the greatest age, in milliseconds. */
const CONNECTION_AGE_GRACE_MS = 5000;

/** Largest request, in bytes: node, names and the text of a NACK, and the versions of all that a pod holds. */
const REQUEST_MAX_BYTES = 4 * 1024 * 1024;

/** Most streams on one connection, and most calls that are not answered. A pod needs one. */
const STREAMS_PER_CONNECTION_MAX = 100;
const CALLS_PER_CONNECTION_MAX = 200;

/**
 * Output that a client does not take, of one connection and of all, in bytes. Snapshots take none of it:
 * all streams share theirs.
 */
const UNSENT_MAX_BYTES = 64 * 1024;
const UNSENT_TOTAL_MAX_BYTES = 128 * 1024 * 1024;

/**
 * How long a client may take nothing of a response, in milliseconds, for example while it is busy with
 * the one before, and how long all of one may take: 56 MiB at 64 KiB a second. Heartbeats end the streams
 * of pods that hang sooner.
 */
const STALL_MAX_MS = 60_000;
const MESSAGE_MAX_MS = 900_000;

/**
 * How long a stream may be open without a request, in milliseconds: it has a place that a pod needs. Pods
 * send their first request as soon as they are connected.
 */
export const FIRST_REQUEST_MAX_MS = 10_000;

/** Part of a drain before the first stream ends: load balancers must notice the stop first. */
const DRAIN_LEAD = 0.2;

/** How connections live and end, in milliseconds. */
export interface ConnectionLife {
  /** The age at which connections close, give or take a tenth, so that pods use new replicas. */
  readonly connectionAgeMaxMs: number;
  readonly connectionAgeGraceMs?: number;
  readonly keepaliveIntervalMs?: number;
  readonly keepaliveTimeoutMs?: number;
  readonly firstRequestMaxMs?: number;
  readonly heartbeat?: HeartbeatOptions;
}

/** The bounds of the HTTP/2 server. */
export function limitsOf(options: ConnectionLife): Partial<Http2Limits> {
  const keepAliveIntervalMs = options.keepaliveIntervalMs ?? KEEPALIVE_INTERVAL_MS;
  const keepAliveTimeoutMs = options.keepaliveTimeoutMs ?? KEEPALIVE_TIMEOUT_MS;
  return {
    keepAliveIntervalMs,
    keepAliveTimeoutMs,
    // A client with unread output is not pinged.
    stallTimeoutMs: keepAliveIntervalMs + keepAliveTimeoutMs,
    streamStallTimeoutMs: STALL_MAX_MS,
    messageTimeoutMs: MESSAGE_MAX_MS,
    connectionAgeMs: options.connectionAgeMaxMs,
    connectionAgeGraceMs: options.connectionAgeGraceMs ?? CONNECTION_AGE_GRACE_MS,
    messageMaxBytes: REQUEST_MAX_BYTES,
    // As many as pods that are sent an edit in one turn: to allocate 16 KiB for each takes longer than to write.
    freeChunksMax: 1024,
    concurrentStreamsMax: STREAMS_PER_CONNECTION_MAX,
    callsInFlightMax: CALLS_PER_CONNECTION_MAX,
    unsentMaxBytes: UNSENT_MAX_BYTES,
    processMaxBytes: UNSENT_TOTAL_MAX_BYTES,
  };
}

/**
 * When each of `count` streams ends during a drain of `overMs`, in milliseconds: evenly spread, so
 * that their pods do not reconnect at the same moment, the last one before the time is over.
 */
export function drainDelaysMs(count: number, overMs: number): readonly number[] {
  const leadMs = overMs * DRAIN_LEAD;
  const stepMs = (overMs - leadMs) / (count + 1);
  return Array.from({ length: count }, (_, index) => Math.round(leadMs + stepMs * (index + 1)));
}
