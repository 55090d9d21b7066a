// The program `weir-client`: sends one request to a rate limit service and prints the response.
// Exit code 0 for OK, 1 for OVER_LIMIT, 2 for no response.
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import type { RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import { type ClientArguments, CLIENT_FLAGS, parseClientArguments } from "./client/arguments.ts";
import { formatAnswer } from "./client/output.ts";

const EXIT_OK = 0;
const EXIT_OVER_LIMIT = 1;
const EXIT_ERROR = 2;

/** RateLimitResponse.Code.OVER_LIMIT by its number, because --help must not load protobuf. */
const OVER_LIMIT = 2;

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
  const options = parseClientArguments(context.args);
  if (typeof options === "string") return fail(context, options);
  // Loaded here because gRPC takes time, which --help and a wrong command line must not cost.
  const { ask, reasonOf } = await import("./client/ask.ts");
  let response: RateLimitResponse;
  try {
    response =
      options.traceProtocol === undefined ? await ask(options) : await askTraced(options, options.traceProtocol);
  } catch (error) {
    return fail(context, `cannot ask ${options.dialString}: ${reasonOf(error)}`);
  }
  context.stdout(formatAnswer(response, options.descriptors));
  return Number(response.overallCode) === OVER_LIMIT ? EXIT_OVER_LIMIT : EXIT_OK;
}

/** Loads the tracing SDK, which is slow, only when a trace is asked for. */
async function askTraced(options: ClientArguments, protocol: "http" | "grpc"): Promise<RateLimitResponse> {
  return (await import("./client/traced-ask.ts")).askTraced(options, protocol);
}

function fail(context: ProgramContext, problem: string): number {
  context.stderr(`weir-client: ${problem}\n`);
  return EXIT_ERROR;
}
