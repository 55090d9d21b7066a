// weir-client: asks a rate limit service once and says what it answered. Exit code 0 for OK, 1 for OVER_LIMIT, 2 for no answer.
import { create } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError as GrpcError, status } from "@grpc/grpc-js";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { describeError } from "@weir/common/errors/service-error";
import {
  RateLimitRequestSchema,
  type RateLimitResponse,
  RateLimitResponse_Code,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import { openTlsChannel } from "../config/xds/tls-channel.ts";
import { CLIENT_FLAGS, type ClientArguments, parseClientArguments } from "./client-arguments.ts";
import { formatAnswer } from "./client-output.ts";

const EXIT_OK = 0;
const EXIT_OVER_LIMIT = 1;
const EXIT_ERROR = 2;

runProgram(
  {
    name: "weir-client",
    summary:
      "Asks a rate limit service once whether descriptors are within their limits. Exits with 0 for OK, 1 for OVER_LIMIT, 2 for no answer.",
    usage: "-domain DOMAIN -descriptors KEY=VALUE,… [-descriptors …] [-dial_string HOST:PORT]",
    flags: CLIENT_FLAGS,
  },
  main,
);

async function main(context: ProgramContext): Promise<number> {
  const parsed = parseClientArguments(context.args);
  if (!parsed.ok) return fail(context, parsed.problem);
  const { arguments: options } = parsed;
  let response: RateLimitResponse;
  try {
    response = await ask(options);
  } catch (error) {
    return fail(context, `cannot ask ${options.dialString}: ${reasonOf(error)}`);
  }
  context.stdout(formatAnswer(response, options.descriptors));
  return response.overallCode === RateLimitResponse_Code.OVER_LIMIT ? EXIT_OVER_LIMIT : EXIT_OK;
}

function fail(context: ProgramContext, problem: string): number {
  context.stderr(`weir-client: ${problem}\n`);
  return EXIT_ERROR;
}

/** The status by name with its details; errors before the call as they are. */
function reasonOf(error: unknown): string {
  if (!isGrpcError(error)) return describeError(error);
  return `${status[error.code]}: ${error.details.replace(/\.? Resolution note: *$/, "")}`;
}

function isGrpcError(error: unknown): error is GrpcError {
  return error instanceof Error && "details" in error && "code" in error && typeof error.code === "number";
}

function ask(options: ClientArguments): Promise<RateLimitResponse> {
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
  return new Promise<RateLimitResponse>((resolve, reject) => {
    const answered = (error: GrpcError | null, response?: RateLimitResponse): void => {
      client.close();
      if (response === undefined) reject(error ?? new Error("the answer was empty"));
      else resolve(response);
    };
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, new Metadata(), { deadline }, answered);
  });
}
