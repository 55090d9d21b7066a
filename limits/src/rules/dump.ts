// The text of /rlconfig: that of envoyproxy/ratelimit for what it knows, and more at the end of a line for
// what it does not.
import {
  compositeKey,
  type DescriptorModel,
  limitsOf,
  type RateLimitConfigModel,
  type RateLimitModel,
} from "../model/model.ts";
import { parseUnit } from "../model/unit.ts";
import { limitPaths } from "./limit-paths.ts";

/** Printed as the unit of an unlimited rule. */
const NO_UNIT = "UNKNOWN";

/** One line per limit, in configured order. */
export function dumpConfig({ domain, descriptors }: RateLimitConfigModel): string {
  return dumpLevel(domain, descriptors);
}

function dumpLevel(parent: string, descriptors: readonly DescriptorModel[]): string {
  return descriptors
    .map((descriptor) => {
      const path = `${parent}.${compositeKey(descriptor)}`;
      const limits = limitsOf(descriptor);
      const paths = limitPaths(path, limits);
      const lines = limits.map((limit, index) => dumpLine(paths[index] ?? path, descriptor, limit));
      return lines.join("") + dumpLevel(path, descriptor.descriptors);
    })
    .join("");
}

function dumpLine(path: string, { shadowMode, quotaMode }: DescriptorModel, limit: RateLimitModel): string {
  const unit = limit.unlimited ? NO_UNIT : (parseUnit(limit.unit) ?? NO_UNIT);
  const requests = limit.unlimited ? 0 : limit.requestsPerUnit;
  const { unitMultiplier, algorithm, burst, countRejectedHits, timeZone, monthDay } = limit;
  const further = Object.entries({
    unit_multiplier: unitMultiplier,
    algorithm,
    burst,
    count_rejected_hits: countRejectedHits,
    time_zone: timeZone,
    month_day: monthDay,
  })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `, ${name}: ${String(value)}`);
  return `${path}: unit=${unit} requests_per_unit=${requests}, shadow_mode: ${shadowMode}, quota_mode: ${quotaMode}${further.join("")}\n`;
}
