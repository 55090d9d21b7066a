// Writes the page /stats: every counter, gauge and timer, sorted by name, in pieces because there
// may be hundreds of thousands.
import { createTagger } from "./extra-tags.ts";
import type { Pieces } from "./paced-response.ts";
import { RULE_STATISTICS } from "./rule-statistics.ts";
import { sortInSteps } from "./sorted-steps.ts";
import type { StatisticsStore } from "./statistics-store.ts";

const PIECE_LINES = 500;

/** EXTRA_TAGS, which are part of every name. */
type ExtraTags = ReadonlyMap<string, string>;

/** A line of the page: a name with a number or a timer. */
interface Line {
  readonly name: string;
  readonly value: number | { readonly count: number; readonly sumMs: number; readonly maxMs: number };
}

/** One `name: value` per line. A timer's value is `count=<n> sum_ms=<n> max_ms=<n>`. */
export function writeStatisticsText(store: StatisticsStore, extraTags: ExtraTags): Pieces {
  return inPieces(collectStatistics(store, extraTags), ({ name, value }) =>
    typeof value === "number"
      ? `${name}: ${value}\n`
      : `${name}: count=${value.count} sum_ms=${value.sumMs} max_ms=${value.maxMs}\n`,
  );
}

/** The same as one JSON object; a timer is `{"count": …, "sumMs": …, "maxMs": …}`. */
export function* writeStatisticsJson(store: StatisticsStore, extraTags: ExtraTags): Pieces {
  yield "{";
  let separator = "";
  yield* inPieces(collectStatistics(store, extraTags), ({ name, value }) => {
    const text = `${separator}${JSON.stringify(name)}:${JSON.stringify(value)}`;
    separator = ",";
    return text;
  });
  yield "}\n";
}

/** Every statistic, sorted by name. */
function* collectStatistics(store: StatisticsStore, extraTags: ExtraTags): Generator<undefined, readonly Line[]> {
  const tagged = createTagger(extraTags);
  const found: Line[] = [];
  const add = (name: string, value: Line["value"]): void => void found.push({ name: tagged(name), value });
  yield* store.walk({
    counter: add,
    rule: (counters) => {
      for (const { name, field } of RULE_STATISTICS) add(`${counters.prefix}.${name}`, counters[field]);
    },
    gauge: add,
    timer: ({ name, count, sumMs, maxMs }) => add(name, { count, sumMs, maxMs }),
  });
  return yield* sortInSteps(found, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function* inPieces(collecting: Generator<undefined, readonly Line[]>, write: (line: Line) => string): Pieces {
  let step = collecting.next();
  while (step.done !== true) {
    yield "";
    step = collecting.next();
  }
  let piece = "";
  for (const [index, line] of step.value.entries()) {
    if (line.name !== step.value[index + 1]?.name) piece += write(line);
    if (index % PIECE_LINES !== PIECE_LINES - 1) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}
