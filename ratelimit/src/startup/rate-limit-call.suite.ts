// Calls a running rate limit service over gRPC, as a proxy does.
import { create } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import {
  RateLimitRequestSchema,
  type RateLimitResponse,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

/** Longest wait for the response, in milliseconds. */
const CALL_TIMEOUT_MS = 25_000;

/**
 * Calls ShouldRateLimit on a port of 127.0.0.1, with one descriptor per entry. Fails with the
 * status of the call.
 */
export async function callRateLimit(
  port: number,
  domain: string,
  ...entries: readonly (readonly [key: string, value: string])[]
): Promise<RateLimitResponse> {
  const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitService).shouldRateLimit;
  const request = create(RateLimitRequestSchema, {
    domain,
    descriptors: entries.map(([key, value]) => ({ entries: [{ key, value }] })),
    hitsAddend: 1,
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const deadline = Date.now() + CALL_TIMEOUT_MS;
  return await new Promise<RateLimitResponse>((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, (error, response) => {
      client.close();
      if (response === undefined) reject(error ?? new Error("The response is empty"));
      else resolve(response);
    });
  });
}
