// The benchmarks with named measures, each of which gives figures: their rounds, and the table of medians with bars.
import { ROOT } from "@weir/harness/processes/programs";
import type { EarlierWorkspace } from "@weir/harness/weir/earlier-build";
import { type Bench, runBenchmark, turnsOf } from "./run-benchmark.ts";
import { formatCost, formatNumber, formatTable, ratiosOf, type Spread, spreadOf } from "./summary.ts";

/** A measured value; without a bar it is only printed. */
export interface Figure {
  readonly what: string;
  readonly bar?: { readonly kind: "least" | "most"; readonly value: number };
  readonly value: number;
  readonly unit: string;
  /** The ratio of this figure to that of an earlier commit counts. */
  readonly isCost?: true;
}

/** A measure: its name on the command line, and what it does. */
export interface Measure<Fixture> {
  readonly id: string;
  readonly run: (fixture: Fixture) => Promise<readonly Figure[]>;
}

/** A benchmark with measures of one kind. */
export interface MeasuredBench<Fixture> {
  readonly name: string;
  readonly summary: string;
  /** The workspace that `--against` builds. */
  readonly workspace?: EarlierWorkspace;
  readonly measures: readonly Measure<Fixture>[];
  /** The first measure is always run: the others begin where it ends. */
  readonly needsFirst?: true;
  /** Starts what all measures need; then gives the fixture of one, with the programs of the checkout at `root`. */
  readonly begin: (bench: Bench) => Promise<(measure: Measure<Fixture>, root: string) => Promise<Fixture>>;
}

/** The figures of each round, of ours and of the earlier commit. */
interface Row<Fixture> {
  readonly measure: Measure<Fixture>;
  readonly contenders: readonly ("weir" | "earlier")[];
  readonly weir: (readonly Figure[])[];
  readonly earlier: (readonly Figure[])[];
}

/** At most so much. */
export function atMost(value: number): Figure["bar"] & object {
  return { kind: "most", value };
}

/** At least so much. */
export function atLeast(value: number): Figure["bar"] & object {
  return { kind: "least", value };
}

/** Runs the measures as the program of this process and prints their figures: each on stderr, the table at the end. */
export function runMeasures<Fixture>({ measures, begin, needsFirst, ...program }: MeasuredBench<Fixture>): void {
  const run = async (bench: Bench): Promise<void> => {
    const { args, context, earlier } = bench;
    const rows = measures
      .filter(({ id }, index) => args.names.length === 0 || args.names.includes(id) || (needsFirst && index === 0))
      .map((measure): Row<Fixture> => {
        const contenders = earlier === undefined ? (["weir"] as const) : (["weir", "earlier"] as const);
        return { measure, contenders, weir: [], earlier: [] };
      });
    try {
      const fixtureOf = await begin(bench);
      for (const { round, item, contender } of turnsOf(args.rounds, rows)) {
        context.stderr(`round ${round} of ${args.rounds}: ${item.measure.id}/${contender} …\n`);
        const root = contender === "earlier" ? earlier!.root : ROOT;
        const figures = await item.measure.run(await fixtureOf(item.measure, root));
        item[contender].push(figures);
        for (const { what, value, unit } of figures) context.stderr(`  ${what}: ${numberText(value)} ${unit}\n`);
      }
    } finally {
      // Figures from before a failure are worth reading.
      const measured = rows.filter(({ weir }) => weir.length > 0);
      if (measured.length > 0) context.stdout(`\n${formatRows(measured)}\n`);
    }
  };
  runBenchmark({ ...program, measures: measures.map(({ id }) => id), run });
}

function formatRows<Fixture>(rows: readonly Row<Fixture>[]): string {
  const costs: { readonly name: string; readonly ratio: Spread }[] = [];
  const lines = rows.flatMap(({ measure, weir, earlier }) =>
    weir[0]!.map(({ what, bar, unit, isCost }, index) => {
      const [ours, theirs] = [weir, earlier].map((rounds) => rounds.map((figures) => figures[index]?.value ?? NaN));
      const spread = spreadOf(ours!);
      const cells = [
        what,
        bar === undefined ? "" : `${bar.kind === "least" ? "≥" : "≤"} ${numberText(bar.value)} ${unit}`,
      ];
      const isMet = bar?.kind === "least" ? spread.median >= bar.value : spread.median <= (bar?.value ?? NaN);
      const result = bar === undefined ? "" : isMet ? "PASS" : "MISS";
      if (theirs!.length === 0) return [...cells, spreadText(spread, unit), result];
      const ratio = ratiosOf(ours!, theirs!);
      if (isCost) costs.push({ name: measure.id, ratio });
      const compared = [spreadText(spreadOf(theirs!), unit), formatNumber(ratio, 2)];
      return [...cells, spreadText(spread, unit), ...compared, result];
    }),
  );
  const compared = rows.some(({ earlier }) => earlier.length > 0) ? ["Earlier", "Ratio"] : [];
  const table = formatTable(["Measure", "Bar", "Measured", ...compared, "Result"], lines);
  return costs.length === 0 ? table : `${table}\n\n${formatCost(costs)}`;
}

function numberText(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function spreadText({ median, min, max }: Spread, unit: string): string {
  const range = min === max ? "" : ` (${numberText(min)}–${numberText(max)})`;
  return `${numberText(median)}${range} ${unit}`;
}
