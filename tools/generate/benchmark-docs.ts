// Writes what docs/benchmarks.md, docs/benchmark-trials.md, docs/benchmarks.svg and README.md say about the last run of the
// benchmark, from its results in docs/benchmarks-results.json; --check compares instead.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { emitBlocks, emitText } from "./generated-page.ts";

/** Results of `make bench ARGS=--write`. */
const RESULTS = "docs/benchmarks-results.json";

/** The module that makes text of them. */
const REPORT = "e2e/src/benchmarks/decisions/report/report-docs.ts";

/** The exports of that file that are used here. */
interface Report {
  readonly documentResults: (results: unknown) => {
    readonly page: Readonly<Record<string, string>>;
    readonly trials: Readonly<Record<string, string>>;
    readonly readme: Readonly<Record<string, string>>;
    readonly plot: string;
  };
}

const { documentResults } = (await import(pathToFileURL(REPORT).href)) as Report;
const { page, trials, readme, plot } = documentResults(JSON.parse(readFileSync(RESULTS, "utf8")));
await emitBlocks("docs/benchmarks.md", page);
await emitBlocks("docs/benchmark-trials.md", trials);
await emitBlocks("README.md", readme);
emitText("docs/benchmarks.svg", plot);
