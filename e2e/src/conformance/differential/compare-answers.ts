// Compares the answers of both services to one request: every field, and times within a second.
import { isDeepStrictEqual } from "node:util";
import { type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import { RateLimitResponseSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import type { CallResult } from "./compared-service.ts";
import { type AnswerJson, asOlderAnswer, withoutOlderMetadata } from "./exceptions.ts";
import type { RandomConfiguration } from "./random-configuration.ts";
import { QUOTA_NAME } from "./random-rules.ts";

/** The services read their clocks at different moments of one call, further apart on a busy machine. */
const TIME_SLACK_SECONDS = 5;

/** A header of an answer. */
interface HeaderJson {
  readonly key?: string;
  value?: string;
}

/** The difference in words; undefined when there is none beyond the expected ones. */
export function compareAnswers(
  theirs: CallResult,
  ours: CallResult,
  configuration: RandomConfiguration,
): string | undefined {
  if ("answer" in theirs && "answer" in ours) {
    const mayDiffer = configuration.isQuotaMode || theirs.answer.includes(QUOTA_NAME);
    if (!mayDiffer && theirs.answer.equals(ours.answer)) return undefined;
    const there = withoutOlderMetadata(decode(theirs.answer));
    const here = asOlderAnswer(decode(ours.answer), configuration);
    const [thereSeconds, hereSeconds] = [there, here].map((answer) => takeSeconds(answer, configuration.resetHeader));
    const areTimesEqual =
      thereSeconds?.length === hereSeconds?.length &&
      thereSeconds?.every((seconds, index) => Math.abs(seconds - (hereSeconds?.[index] ?? NaN)) <= TIME_SLACK_SECONDS);
    if (areTimesEqual === true && isDeepStrictEqual(there, here)) return undefined;
    return describe({ ...there, seconds: thereSeconds }, { ...here, seconds: hereSeconds });
  }
  if ("code" in theirs && "code" in ours) {
    const areEqual = theirs.code === "UNKNOWN" && ours.code === "INVALID_ARGUMENT" && theirs.text === ours.text;
    if (areEqual) return undefined;
  }
  return describe(theirs, ours);
}

/** An answer in JSON. A field that the message does not have is part of it, too: both must agree on it. */
function decode(bytes: Buffer): AnswerJson {
  const message = fromBinary(RateLimitResponseSchema as DescMessage, bytes);
  const unknown = message.$unknown?.map(({ no, data }) => `${no}: ${Buffer.from(data).toString("hex")}`);
  const json = toJson(RateLimitResponseSchema as DescMessage, message) as AnswerJson;
  return unknown === undefined ? json : { ...json, unknown };
}

/** Removes the times of an answer, in seconds, and the spaces that Go puts into texts at random. */
function takeSeconds(answer: AnswerJson, resetHeader: string): readonly number[] {
  const seconds: number[] = [];
  for (const status of answer.statuses ?? []) {
    if (status.durationUntilReset === undefined) continue;
    seconds.push(Number(status.durationUntilReset.slice(0, -1)));
    status.durationUntilReset = "";
  }
  for (const header of (answer["responseHeadersToAdd"] ?? []) as HeaderJson[]) {
    if (header.key !== resetHeader) continue;
    seconds.push(Number(header.value));
    header.value = "";
  }
  for (const descriptor of (answer.dynamicMetadata?.["descriptors"] ?? []) as { limit?: string }[])
    if (descriptor.limit !== undefined) descriptor.limit = descriptor.limit.replaceAll(/ +/g, " ");
  return seconds;
}

function describe(theirs: unknown, ours: unknown): string {
  return `  there ${JSON.stringify(theirs)}\n  here  ${JSON.stringify(ours)}`;
}
