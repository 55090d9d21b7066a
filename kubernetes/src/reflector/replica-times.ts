// Waits and time limits of a program that runs in a few replicas next to its API server.
import type { ApiTimeouts } from "../client/api-client.ts";
import type { ReflectorPace } from "./reflector-run.ts";

/**
 * In milliseconds. A bookmark comes about once a minute, or somewhat later, so that silence is rare.
 * Replicas are few, so that the longest wait can be short: changes come that much later than the API
 * server.
 */
export const REPLICA_TIMES: ReflectorPace & ApiTimeouts = {
  backoffInitialMs: 250,
  backoffMaxMs: 5000,
  slowMs: 15_000,
  answerTimeoutMs: 30_000,
  silenceTimeoutMs: 100_000,
  slowAfterMs: 5000,
};
