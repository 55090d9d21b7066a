// What grpc-js is told of connections: how their life is watched, when they end, and how much one
// may carry.
import type { ServerOptions } from "@grpc/grpc-js";

/**
 * How often a silent connection is asked for a sign of life, and how long that may take, in
 * milliseconds: a dead pod is gone within their sum.
 */
const KEEPALIVE_INTERVAL_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 10_000;

/** Longest age, in milliseconds, to which gRPC can add its tenth: a timer of Node takes 31 bits. */
const CONNECTION_AGE_LIMIT_MS = 1_900_000_000;

/**
 * How long the streams of a connection that has reached its greatest age may go on, in
 * milliseconds.
 */
const CONNECTION_AGE_GRACE_MS = 5000;

/** Largest request, in bytes: node, names and a rejection text. */
const REQUEST_MAX_BYTES = 1024 * 1024;

/** Most streams on one connection. A pod needs one. */
const STREAMS_PER_CONNECTION_MAX = 100;

/** How connections live and end; what is not set is as for pods in the field. Milliseconds. */
export interface ConnectionLife {
  /**
   * Connections are closed at this age, give or take a tenth, so that pods spread over replicas
   * that came later.
   */
  readonly connectionAgeMaxMs: number;
  readonly connectionAgeGraceMs?: number;
  readonly keepaliveIntervalMs?: number;
  readonly keepaliveTimeoutMs?: number;
}

/** The options of the server. */
export function serverOptionsOf(options: ConnectionLife): ServerOptions {
  return {
    "grpc.keepalive_time_ms": options.keepaliveIntervalMs ?? KEEPALIVE_INTERVAL_MS,
    "grpc.keepalive_timeout_ms": options.keepaliveTimeoutMs ?? KEEPALIVE_TIMEOUT_MS,
    "grpc.max_connection_age_ms": Math.min(options.connectionAgeMaxMs, CONNECTION_AGE_LIMIT_MS),
    "grpc.max_connection_age_grace_ms": options.connectionAgeGraceMs ?? CONNECTION_AGE_GRACE_MS,
    "grpc.max_receive_message_length": REQUEST_MAX_BYTES,
    // The bound is SNAPSHOT_MAX_BYTES; it is not looked at twice.
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": STREAMS_PER_CONNECTION_MAX,
    // Books about every connection and call that nobody reads.
    "grpc.enable_channelz": 0,
  };
}
