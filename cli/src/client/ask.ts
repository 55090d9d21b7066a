// The gRPC call of weir-client: connects, sends the request, and describes a failure.
import { create } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError as GrpcError, status } from "@grpc/grpc-js";
import { describeError } from "@weir/common/errors/service-error";
import { callReason } from "@weir/common/grpc/call-reason";
import { openTlsChannel } from "@weir/common/grpc/tls-channel";
import {
  RateLimitRequestSchema,
  type RateLimitResponse,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import type { ClientArguments } from "./arguments.ts";

/**
 * Sends the request once, with these headers. Fails with the status of the call or with
 * TLS_FILE_INVALID; `reasonOf` describes both.
 */
export function ask(
  options: ClientArguments,
  headers: Readonly<Record<string, string>> = {},
): Promise<RateLimitResponse> {
  const { dialString, domain, descriptors, hitsAddend, timeoutMs } = options;
  const channel = options.tls === undefined ? undefined : openTlsChannel(dialString, options.tls);
  const client = new Client(dialString, channel?.credentials ?? credentials.createInsecure(), {
    "grpc.enable_channelz": 0,
    ...channel?.options,
  });
  const request = create(RateLimitRequestSchema, {
    domain,
    hitsAddend,
    descriptors: descriptors.map((entries) => ({ entries: [...entries] })),
  });
  const { path, requestSerialize, responseDeserialize } = serviceDefinition(RateLimitService).shouldRateLimit;
  const deadline = Date.now() + timeoutMs;
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return new Promise<RateLimitResponse>((resolve, reject) => {
    const answered = (error: GrpcError | null, response?: RateLimitResponse): void => {
      client.close();
      if (response === undefined) reject(error ?? new Error("the answer was empty"));
      else resolve(response);
    };
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, { deadline }, answered);
  });
}

/** A failure in one line: the status by name with its details, or the message of another error. */
export function reasonOf(error: unknown): string {
  if (!isGrpcError(error)) return describeError(error);
  return `${status[error.code]}: ${callReason(error.details)}`;
}

function isGrpcError(error: unknown): error is GrpcError {
  return error instanceof Error && "details" in error && "code" in error && typeof error.code === "number";
}
