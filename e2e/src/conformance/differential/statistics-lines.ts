// The counters of envoyproxy/ratelimit from the lines of JSON that it writes without another sink.
// Lines have differences; a line at the end of each flush says that all of it was written.
interface StatisticsLine {
  readonly msg?: string;
  readonly json?: { readonly name?: string; readonly type?: string; readonly value?: string };
}

/** Message of the line at the end of a flush. */
const FLUSHED = "flushing all stats";

/** Adds up lines. */
export class StatisticsLines {
  readonly #totals = new Map<string, number>();
  #flushes = 0;

  /** Number of complete flushes so far. */
  get flushes(): number {
    return this.#flushes;
  }

  /** Every counter that has grown, by its name. */
  get totals(): ReadonlyMap<string, number> {
    return this.#totals;
  }

  /** Takes a line of its output; other lines than those of statistics are ignored. */
  add(line: string): void {
    if (!line.startsWith("{")) return;
    const { msg, json } = JSON.parse(line) as StatisticsLine;
    if (msg === FLUSHED) this.#flushes++;
    if (json?.type !== "counter" || json.name === undefined) return;
    this.#totals.set(json.name, (this.#totals.get(json.name) ?? 0) + Number(json.value));
  }
}
