// weir-client: asks a rate limit service once and says what it answered. Exit code 0 for OK, 1 for
// OVER_LIMIT, 2 for no answer.
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import type { RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import { type ClientArguments, CLIENT_FLAGS, parseClientArguments } from "./client-arguments.ts";
import { formatAnswer } from "./client-output.ts";

const EXIT_OK = 0;
const EXIT_OVER_LIMIT = 1;
const EXIT_ERROR = 2;

/**
 * RateLimitResponse.Code.OVER_LIMIT, here by its number: the help does not wait for protobuf to
 * load.
 */
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
  const parsed = parseClientArguments(context.args);
  if (!parsed.ok) return fail(context, parsed.problem);
  const { arguments: options } = parsed;
  // gRPC takes time to load: not for the help, and not for a command line that is wrong.
  const { ask, reasonOf } = await import("./ask.ts");
  let response: RateLimitResponse;
  try {
    response =
      options.traceProtocol === undefined ? await ask(options) : await askInSpan(options, options.traceProtocol);
  } catch (error) {
    return fail(context, `cannot ask ${options.dialString}: ${reasonOf(error)}`);
  }
  context.stdout(formatAnswer(response, options.descriptors));
  return Number(response.overallCode) === OVER_LIMIT ? EXIT_OVER_LIMIT : EXIT_OK;
}

/** Loads what traces need, which is slow, only when a trace is asked for. */
async function askInSpan(options: ClientArguments, protocol: "http" | "grpc"): Promise<RateLimitResponse> {
  const { askTraced } = await import("./traced-ask.ts");
  return askTraced(options, protocol, { log: createLog({ level: "warn", format: "text" }) });
}

function fail(context: ProgramContext, problem: string): number {
  context.stderr(`weir-client: ${problem}\n`);
  return EXIT_ERROR;
}
