// Constants and functions that tests of the rate limit service as a program share.
import { type Env, startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { RateLimitClient } from "@weir/harness/servers/rate-limit-client";
import type { RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

/** How long a program may take for what a test waits for, in milliseconds. */
export const WAIT = { timeout: 60_000, interval: 50 };

const DAY_MS = 86_400_000;

/** Environment of a rate limit service whose listeners take free ports of 127.0.0.1. */
export const FREE_PORTS = {
  HOST: "127.0.0.1",
  PORT: "0",
  GRPC_HOST: "127.0.0.1",
  GRPC_PORT: "0",
  DEBUG_HOST: "127.0.0.1",
  DEBUG_PORT: "0",
} as const;

/**
 * Time before midnight UTC in which no test with limits per day begins, in milliseconds: long
 * enough for the calls of each.
 */
const MIDNIGHT_MARGIN_MS = 40_000;

/** Resolves when no window of a day ends soon, so that a test can count on one. */
export async function clearOfMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < MIDNIGHT_MARGIN_MS) await new Promise((resolve) => setTimeout(resolve, leftMs + 100));
}

/** Starts the service with these variables alone. */
export function startService(env: Env, args: readonly string[] = []): Program {
  return startSource("ratelimit/src/main.ts", env, args);
}

/** The port of a listener, once the service logs it. */
export async function portOf(service: Program, what: "gRPC" | "HTTP" | "debug" | "statistics"): Promise<number> {
  return Number((await service.find(new RegExp(`Listening for ${what} on [^" ]*:(\\d+)`)))[1]);
}

/**
 * Calls ShouldRateLimit on a port of 127.0.0.1, with one descriptor per entry. Fails with the
 * status of the call.
 */
export async function callRateLimit(
  port: number,
  domain: string,
  ...entries: readonly (readonly [key: string, value: string])[]
): Promise<RateLimitResponse> {
  const client = new RateLimitClient(`127.0.0.1:${port}`);
  const descriptors = entries.map(([key, value]) => ({ entries: [{ key, value }] }));
  return await client.call({ domain, descriptors, hitsAddend: 1 }).finally(() => client.close());
}
