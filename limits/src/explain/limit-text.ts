// A limit in words, for people. Pure.
import type { RateLimitModel } from "../model/model.ts";

/** A valid limit, such as `100 per 5 minutes, token bucket with a burst of 20, named burst`. */
export function limitText(limit: RateLimitModel): string {
  const { requestsPerUnit, unlimited, name, timeZone, monthDay, countRejectedHits } = limit;
  const unit = limit.unit.toLowerCase();
  const multiplier = limit.unitMultiplier ?? 1;
  const amount = `${requestsPerUnit} per ${multiplier === 1 ? unit : `${multiplier} ${unit}s`}`;
  const parts = [
    unlimited ? "unlimited" : `${amount}${requestsPerUnit === 0 ? ": every request is rejected" : ""}`,
    ...algorithmParts(limit),
    ...(timeZone === undefined ? [] : [`in the time zone ${timeZone}`]),
    ...(monthDay === undefined ? [] : [`from day ${monthDay} on`]),
    ...(countRejectedHits === undefined ? [] : [`rejected hits ${countRejectedHits ? "count" : "do not count"}`]),
    ...(name === "" ? [] : [`named ${name}`]),
  ];
  return parts.join(", ");
}

function algorithmParts({ algorithm, burst, requestsPerUnit }: RateLimitModel): readonly string[] {
  if (algorithm === "sliding_window") return ["sliding window"];
  return algorithm === "token_bucket" ? [`token bucket with a burst of ${burst ?? requestsPerUnit}`] : [];
}
