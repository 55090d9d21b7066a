// How connections live and end: keepalive, greatest age, bounds, and the order in which streams end
// when the replica stops.
import type { ServerOptions } from "@grpc/grpc-js";

import type { HeartbeatOptions } from "./stream/heartbeat.ts";

/**
 * How often a connection is pinged, and how long the answer may take, in milliseconds: a dead pod is
 * gone within their sum. gRPC clients answer any number of pings.
 */
const KEEPALIVE_INTERVAL_MS = 5000;
const KEEPALIVE_TIMEOUT_MS = 5000;

/** Longest age, in milliseconds, to which gRPC can add a tenth: timers of Node have 31 bits. */
const CONNECTION_AGE_LIMIT_MS = 1_900_000_000;

/** How long streams may continue on a connection of the greatest age, in milliseconds. */
const CONNECTION_AGE_GRACE_MS = 5000;

/** Largest request, in bytes: node, names and the text of a NACK. */
const REQUEST_MAX_BYTES = 1024 * 1024;

/** Most streams on one connection. A pod needs one. */
const STREAMS_PER_CONNECTION_MAX = 100;

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

/** The options of the gRPC server. */
export function serverOptionsOf(options: ConnectionLife): ServerOptions {
  return {
    "grpc.keepalive_time_ms": options.keepaliveIntervalMs ?? KEEPALIVE_INTERVAL_MS,
    "grpc.keepalive_timeout_ms": options.keepaliveTimeoutMs ?? KEEPALIVE_TIMEOUT_MS,
    "grpc.max_connection_age_ms": Math.min(options.connectionAgeMaxMs, CONNECTION_AGE_LIMIT_MS),
    "grpc.max_connection_age_grace_ms": options.connectionAgeGraceMs ?? CONNECTION_AGE_GRACE_MS,
    "grpc.max_receive_message_length": REQUEST_MAX_BYTES,
    // SNAPSHOT_MAX_BYTES is the bound.
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": STREAMS_PER_CONNECTION_MAX,
    // Its statistics are never read.
    "grpc.enable_channelz": 0,
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
