// Formats statistics as lines: for StatsD servers, and as JSON for standard output. The format for
// DogStatsD servers is tagged-format.ts.
import { createTagger } from "../extra-tags.ts";

/** Formats statistics as lines, each with its line end. */
export interface LineFormat {
  /** A counter that grew by a whole number above 0. */
  counter(name: string, difference: number): string;
  gauge(name: string, value: number): string;
  /** One duration in whole milliseconds. */
  timer(name: string, durationMs: number): string;
  /** The end of a flush; may be empty. */
  flushed(): string;
}

/** EXTRA_TAGS, which are part of every name. */
interface ExtraTags {
  readonly extraTags: ReadonlyMap<string, string>;
}

/** Lines for a StatsD server. */
export function createStatsdFormat({ extraTags }: ExtraTags): LineFormat {
  const tagged = createTagger(extraTags);
  return {
    counter: (name, difference) => `${tagged(name)}:${formatNumber(difference)}|c\n`,
    gauge: (name, value) => `${tagged(name)}:${formatNumber(value)}|g\n`,
    timer: (name, durationMs) => `${tagged(name)}:${formatNumber(durationMs)}|ms\n`,
    flushed: () => "",
  };
}

/** Lines of JSON, as envoyproxy/ratelimit logs them. `nowMs` is the time of day. */
export function createJsonFormat(deps: { readonly nowMs: () => number }, { extraTags }: ExtraTags): LineFormat {
  const tagged = createTagger(extraTags);
  const line = (message: string, type: string, value: number, name?: string): string => {
    const json = JSON.stringify({
      ...(name === undefined ? {} : { name: tagged(name) }),
      type,
      value: value.toFixed(6),
    });
    // Not by JSON.stringify, because the time has six decimals in envoyproxy/ratelimit.
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

/**
 * Whole numbers plainly, others with six decimals; at least 0, because a sign would mean a change
 * of a gauge's value.
 */
function formatNumber(value: number): string {
  const positive = Math.max(0, value);
  return Number.isInteger(positive) ? String(positive) : positive.toFixed(6);
}
