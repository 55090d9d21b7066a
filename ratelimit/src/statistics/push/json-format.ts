// Statistics as lines of JSON, in the shape that the reference writes to its log.
import { createTagger } from "../extra-tags.ts";
import type { LineFormat } from "./line-format.ts";

/** Creates the format. `nowMs` is the time of day. */
export function createJsonFormat(
  deps: { readonly nowMs: () => number },
  options: { readonly extraTags: ReadonlyMap<string, string> },
): LineFormat {
  const tagged = createTagger(options.extraTags);
  const line = (message: string, type: string, value: number, name?: string): string => {
    const json = JSON.stringify({
      ...(name === undefined ? {} : { name: tagged(name) }),
      type,
      value: value.toFixed(6),
    });
    // By hand: the reference writes the time with all six decimals, which JSON.stringify would
    // drop.
    const ts = (deps.nowMs() / 1000).toFixed(6);
    return `{"level":"debug","ts":${ts},"logger":"gostats.loggingsink","msg":${JSON.stringify(message)},"json":${json}}\n`;
  };
  return {
    counter: (name, difference) => line("flushing counter", "counter", difference, name),
    gauge: (name, value) => line("flushing gauge", "gauge", value, name),
    timer: (name, durationMs) => line("flushing timer", "timer", durationMs, name),
    flushed: () => line("flushing all stats", "all stats", 0),
  };
}
