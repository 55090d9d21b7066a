// Random rules that the validator finds nothing in, for property tests: random ones of which what
// is wrong is left out or put right.
import { compositeKey } from "./model.ts";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "./model.ts";
import { randomConfig } from "./random-config.suite.ts";
import { parseUnit, windowSecondsOf } from "./unit.ts";
import type fc from "fast-check";

/** Any valid configuration. */
export const validConfig: fc.Arbitrary<RateLimitConfigModel> = randomConfig.map((config) => ({
  ...config,
  domain: config.domain === "" ? "any" : config.domain,
  descriptors: validLevel(config.descriptors),
}));

function validLevel(descriptors: readonly DescriptorModel[]): readonly DescriptorModel[] {
  const seen = new Set<string>();
  return descriptors.flatMap((descriptor) => {
    const composite = compositeKey(descriptor);
    if (descriptor.key === "" || seen.has(composite)) return [];
    seen.add(composite);
    return [validDescriptor(descriptor)];
  });
}

function validDescriptor(descriptor: DescriptorModel): DescriptorModel {
  const { rateLimit, rateLimits, ...rest } = descriptor;
  return {
    ...rest,
    ...(rateLimit !== undefined && { rateLimit: validLimit(rateLimit) }),
    ...(rateLimits !== undefined && rateLimit === undefined && { rateLimits: validList(rateLimits) }),
    shareThreshold: descriptor.shareThreshold && compositeKey(descriptor).includes("*"),
    descriptors: validLevel(descriptor.descriptors),
  };
}

function validList(limits: readonly RateLimitModel[]): readonly RateLimitModel[] {
  return [...limits, ...limits].slice(0, 8).map((limit, index) => {
    const listed = { ...limit, unlimited: false, replaces: [], name: `limit-${index}` };
    const { countRejectedHits: _own, ...valid } = validLimit(listed);
    const { countRejectedHits } = limits[0] ?? limit;
    return { ...valid, ...(countRejectedHits !== undefined && { countRejectedHits }) };
  });
}

function validLimit(limit: RateLimitModel): RateLimitModel {
  const unit = parseUnit(limit.unit) ?? "MINUTE";
  const { requestsPerUnit, unlimited, name } = limit;
  const replaces = limit.replaces.filter((replaced) => replaced.name !== "" && replaced.name !== limit.name);
  const common = { requestsPerUnit, unlimited, name, replaces };
  if (unlimited) return { ...common, unit: "" };
  const { unitMultiplier = 1, algorithm = "fixed_window", burst = 0, timeZone, monthDay = 0 } = limit;
  const isCalendar =
    timeZone !== undefined &&
    ["UTC", "Europe/Zurich"].includes(timeZone) &&
    algorithm === "fixed_window" &&
    ["DAY", "WEEK", "MONTH", "YEAR"].includes(unit);
  const isMultiple =
    unitMultiplier > 0 &&
    windowSecondsOf(unit, unitMultiplier) !== undefined &&
    (unitMultiplier === 1 || !isCalendar || unit === "MONTH");
  return {
    ...common,
    unit: parseUnit(limit.unit) === undefined ? "minute" : limit.unit,
    ...(limit.unitMultiplier !== undefined && isMultiple && { unitMultiplier }),
    ...(["sliding_window", "token_bucket"].includes(algorithm) && { algorithm }),
    ...(algorithm === "token_bucket" && burst > 0 && requestsPerUnit > 0 && { burst }),
    ...(limit.countRejectedHits !== undefined && { countRejectedHits: limit.countRejectedHits }),
    ...(isCalendar && { timeZone }),
    ...(isCalendar && unit === "MONTH" && monthDay > 0 && monthDay < 32 && { monthDay }),
  };
}
