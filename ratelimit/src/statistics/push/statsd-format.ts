// Lines as a StatsD server reads them; extra tags stay inside the names.
import { createTagger } from "../extra-tags.ts";
import type { LineFormat } from "./line-format.ts";

/** Creates the format. */
export function createStatsdFormat(options: { readonly extraTags: ReadonlyMap<string, string> }): LineFormat {
  const tagged = createTagger(options.extraTags);
  return {
    counter: (name, difference) => `${tagged(name)}:${writeNumber(difference)}|c\n`,
    gauge: (name, value) => `${tagged(name)}:${writeNumber(value)}|g\n`,
    timer: (name, durationMs) => `${tagged(name)}:${writeNumber(durationMs)}|ms\n`,
    flushed: () => "",
  };
}

/**
 * Whole numbers plainly, others with six decimals. A sign would make a change of a gauge's value of
 * it, so there is nothing below 0.
 */
function writeNumber(value: number): string {
  const positive = Math.max(0, value);
  return Number.isInteger(positive) ? String(positive) : positive.toFixed(6);
}
