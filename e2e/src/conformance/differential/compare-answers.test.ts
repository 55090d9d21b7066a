import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  RateLimitResponse_Code,
  RateLimitResponse_RateLimit_Unit,
  RateLimitResponseSchema,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { describe, expect, it } from "vitest";
import { Random } from "@weir/harness/processes/random";
import { compareAnswers } from "./compare-answers.ts";
import { drawConfiguration } from "./random-configuration.ts";

const CONFIGURATION = { ...drawConfiguration(new Random(1)), isQuotaMode: false, resetHeader: "reset" };
const { OK, OVER_LIMIT } = RateLimitResponse_Code;

function answer(init: MessageInitShape<typeof RateLimitResponseSchema>) {
  return { answer: Buffer.from(toBinary(RateLimitResponseSchema, create(RateLimitResponseSchema, init))) };
}

function counted(code: RateLimitResponse_Code, seconds: number | undefined, name = "") {
  const duration = seconds === undefined ? {} : { durationUntilReset: { seconds: BigInt(seconds) } };
  return {
    code,
    currentLimit: { requestsPerUnit: 5, unit: RateLimitResponse_RateLimit_Unit.HOUR, name },
    limitRemaining: 0,
    ...duration,
  };
}

function timed(seconds: number, header: string) {
  const headers = [{ key: "reset", value: header }];
  return answer({ overallCode: OK, statuses: [counted(OK, seconds)], responseHeadersToAdd: headers });
}

describe("compareAnswers()", () => {
  it.each([
    { what: "equal answers", theirs: timed(10, "10"), ours: timed(10, "10") },
    { what: "times five seconds apart", theirs: timed(15, "10"), ours: timed(10, "15") },
    {
      what: "an invalid call with its own status",
      theirs: { code: "UNKNOWN", text: "no domain" },
      ours: { code: "INVALID_ARGUMENT", text: "no domain" },
    },
    {
      what: "a quota that is over, which the older version answers as OK without a time",
      theirs: answer({ overallCode: OK, statuses: [counted(OK, undefined, "quota-a")] }),
      ours: answer({ overallCode: OVER_LIMIT, statuses: [counted(OVER_LIMIT, 10, "quota-a")] }),
    },
  ])("finds no difference in $what", ({ theirs, ours }) => {
    expect(compareAnswers(theirs, ours, CONFIGURATION)).toBeUndefined();
  });

  it.each([
    { what: "times six seconds apart", theirs: timed(10, "10"), ours: timed(4, "10") },
    { what: "headers six seconds apart", theirs: timed(10, "10"), ours: timed(10, "16") },
    {
      what: "another code",
      theirs: answer({ overallCode: OK, statuses: [counted(OK, 10)] }),
      ours: answer({ overallCode: OK, statuses: [counted(OVER_LIMIT, 10)] }),
    },
    {
      what: "an unknown field",
      theirs: answer({ overallCode: OK }),
      ours: { answer: Buffer.concat([answer({ overallCode: OK }).answer, Buffer.from([0x98, 0x06, 0x01])]) },
    },
    { what: "an error of one", theirs: timed(1, "1"), ours: { code: "INVALID_ARGUMENT", text: "no domain" } },
    {
      what: "another text",
      theirs: { code: "UNKNOWN", text: "no domain" },
      ours: { code: "INVALID_ARGUMENT", text: "no descriptors" },
    },
  ])("finds $what", ({ theirs, ours }) => {
    expect(compareAnswers(theirs, ours, CONFIGURATION)).toMatch(/there .*\n.*here /);
  });
});
