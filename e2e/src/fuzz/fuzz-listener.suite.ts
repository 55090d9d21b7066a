// Sends inputs to one listener of the service, over many connections at a time. fuzzed-service.suite.ts
// looks at how the process stands it.
import { create, toBinary } from "@bufbuild/protobuf";
import { Wire, type WireAddress } from "@weir/harness/http2/wire";
import { mutate } from "@weir/harness/processes/mutation";
import type { Random } from "@weir/harness/processes/random";
import { randomFrames } from "@weir/http2/fuzz/inputs.suite";
import { fuzzSocket } from "@weir/http2/fuzz/socket-connection.suite";
import { RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { ANSWER_START, brokenRequest, type Http1Target, oddRequest } from "./http1-inputs.suite.ts";

/**
 * Connections at a time: fewer than the smallest listener takes, and so many that waiting for quiet
 * ones keeps no session idle.
 */
const PARALLEL = 96;

/**
 * How long nothing may come back before a request counts as incomplete, and how long the server has
 * to close after our end, in milliseconds.
 */
const QUIET_MS = 30;
const CLOSE_MS = 1000;

/** Requests of one connection, and those whose answers are awaited together. */
const REQUESTS_PER_JOB = 40;
const REQUESTS_PER_WAIT = 10;

/** A good request. */
const REQUEST = Buffer.from(
  toBinary(
    RateLimitRequestSchema,
    create(RateLimitRequestSchema, {
      domain: "fuzz",
      hitsAddend: 3,
      descriptors: [
        { entries: [{ key: "user", value: "ada" }] },
        {
          entries: [
            { key: "path", value: "/x" },
            { key: "user", value: "" },
          ],
          limit: { requestsPerUnit: 5, unit: 2 },
          hitsAddend: 2n,
        },
      ],
    }),
  ),
);

const SHOULD_RATE_LIMIT = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** Sessions of broken and sound calls of the service. */
const makeSession = randomFrames({
  paths: [
    ...Array<string>(40).fill(SHOULD_RATE_LIMIT),
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.health.v1.Health/List",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/x",
  ],
  message: (random) =>
    random.oneIn(10) ? random.bytes(random.between(0, 200)) : mutate(random, REQUEST, random.between(0, 6)),
});

/** A listener to send to. */
export interface FuzzTarget {
  readonly name: string;
  readonly address: WireAddress;
  /** The protocol that it speaks: gRPC, or HTTP/1.1 with certain paths and a body. */
  readonly speaks: "grpc" | Http1Target;
}

/** Counts of what was sent. */
export interface FuzzTotals {
  inputs: number;
  bytes: number;
  connections: number;
}

/** Sends at least `inputs` inputs, and adds them to `totals` as they are sent. */
export async function fuzzListener(
  { address, speaks }: FuzzTarget,
  random: Random,
  inputs: number,
  totals: FuzzTotals,
): Promise<void> {
  const end = totals.inputs + inputs;
  const work = async (): Promise<void> => {
    while (totals.inputs < end) {
      const { steps, bytes } =
        speaks === "grpc"
          ? await fuzzSocket(address, makeSession, random.fork())
          : await sendRequests(address, random.fork(), speaks);
      totals.inputs += steps;
      totals.bytes += bytes;
      totals.connections += 1;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

/** Sends requests over one connection until it is closed, or the server waits for more of one. */
async function sendRequests(address: WireAddress, random: Random, about: Http1Target) {
  const isBroken = random.oneIn(5);
  const perWait = isBroken ? 1 : REQUESTS_PER_WAIT;
  const wire = await Wire.open(address);
  const totals = { steps: 0, bytes: 0 };
  let isAnswered = true;
  while (totals.steps < REQUESTS_PER_JOB && isAnswered && !wire.isClosed) {
    let answers = 0;
    wire.onData = (chunk) => (answers += chunk.toString("latin1").split(ANSWER_START).length - 1);
    for (let index = 0; index < perWait; index++) {
      const request = (isBroken ? brokenRequest : oddRequest)(random, about);
      wire.write(request);
      totals.steps += 1;
      totals.bytes += request.length;
    }
    isAnswered = await wire.until(() => answers >= perWait, QUIET_MS);
  }
  await wire.finish(CLOSE_MS);
  return totals;
}
