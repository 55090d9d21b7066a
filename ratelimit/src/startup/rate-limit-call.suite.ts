// Calls a running rate limit service over gRPC, as a proxy does.
import { RateLimitClient } from "@weir/harness/servers/rate-limit-client";
import type { RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

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
