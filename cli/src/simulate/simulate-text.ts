// A simulation, as text for people. Pure.
import { limitText } from "@weir/limits/explain/limit-text";

import { placeText } from "../check/check-text.ts";
import { printable } from "../command-line/printable.ts";
import { tableText } from "../command-line/table.ts";
import type { ConfiguredDomain } from "../explain/configured-domain.ts";
import { formatElapsed } from "./elapsed.ts";
import { type Load, mostWithin, type Simulation } from "./simulate.ts";
import type { SimulatedLimit } from "./simulated-limit.ts";

/** The limit and the requests, a line for each part of the time, and how many passed at most in a window. */
export function simulateText(
  domain: ConfiguredDomain,
  { rule, descriptor, limits }: SimulatedLimit,
  load: Load,
  { parts, passed, rejected, passedMs }: Simulation,
): string {
  const { burst, rate, hits, startMs, durationMs } = load;
  const start = new Date(startMs).toISOString().replace(".000Z", "Z");
  const steady = `${rate.count} per ${rate.unit.toLowerCase()} for ${formatElapsed(durationMs)} from ${start}`;
  const rows = parts.map((part) => [
    `${formatElapsed(part.fromMs)} to ${formatElapsed(part.toMs)}`,
    String(part.passed),
    String(part.rejected),
  ]);
  const most = limits.map(({ model, windowMs }) => {
    const limit = model.name === "" ? "" : ` (${model.name})`;
    const of = hits === 1 ? "" : " hits";
    return `most in any ${formatElapsed(windowMs)}${limit}: ${mostWithin(passedMs, windowMs) * hits}${of}`;
  });
  return `${[
    `domain    ${domain.domain} (${placeText(domain.place)})`,
    `rule      ${rule.path} (${placeText(domain.placeOf(descriptor))})`,
    ...limits.map(({ model }) => `limit     ${limitText(model)}`),
    ...(rule.shadowMode || domain.shadowAt !== undefined
      ? ["flag      shadow mode: all of them pass in a pod, which only counts those that are rejected here"]
      : []),
    `requests  ${steady}${burst === 0 ? "" : `, and ${burst} at the start`}${hits === 1 ? "" : `, of ${hits} hits each`}`,
  ]
    .map(printable)
    .join("\n")}

${tableText(["TIME", "PASSED", "REJECTED"], [...rows, ["total", String(passed), String(rejected)]])}
${most.map(printable).join("\n")}
`;
}
