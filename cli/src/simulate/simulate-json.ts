// A simulation, as JSON. Pure.
import type { ConfiguredDomain } from "../explain/configured-domain.ts";
import { limitFields } from "../explain/explain-json.ts";
import { type Load, mostWithin, type Simulation } from "./simulate.ts";
import type { SimulatedLimit } from "./simulated-limit.ts";

/** One JSON object. */
export function simulateJson(
  domain: ConfiguredDomain,
  { rule, descriptor, limits }: SimulatedLimit,
  { startMs, durationMs, burst, rate, hits }: Load,
  { parts, passed, rejected, passedMs }: Simulation,
): string {
  const object = {
    domain: domain.domain,
    rule: rule.path,
    place: domain.placeOf(descriptor),
    shadowMode: rule.shadowMode || domain.shadowAt !== undefined,
    limits: limits.map(({ model, windowMs }) => {
      return { ...limitFields(model), windowMs, mostHits: mostWithin(passedMs, windowMs) * hits };
    }),
    requests: {
      start: new Date(startMs).toISOString(),
      durationMs,
      burst,
      rate: { ...rate, unit: rate.unit.toLowerCase() },
      hits,
    },
    passed,
    rejected,
    parts,
  };
  return `${JSON.stringify(object, undefined, 2)}\n`;
}
