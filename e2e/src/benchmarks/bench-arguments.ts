// The command line of the benchmarks.
import { parseArgs } from "node:util";
import type { ProgramFlag } from "@weir/common/lifecycle/help";
import { E2eError } from "../errors.ts";

/** The chosen measures, and the effort. */
export interface BenchArguments {
  /** Measurements of each row; the servers of a row take turns. */
  readonly rounds: number;
  /** Names of the chosen measures; empty: all. */
  readonly names: readonly string[];
  /** An earlier commit whose programs are measured next to ours. */
  readonly against: string | undefined;
  /** Short measurements: shows that everything works, and says little about speed. */
  readonly isQuick: boolean;
  /** Words that the name of a row, such as `redis/8x64/weir`, must have, all of them. */
  readonly only: readonly string[];
  /** Writes the results into docs/benchmarks-results.json. */
  readonly isWritten: boolean;
}

const ROUNDS_DEFAULT = { named: 1, quick: 1, thorough: 3 } as const;

const AGAINST: ProgramFlag = {
  flag: "--against COMMIT",
  effect: "Builds that commit in the cache folder and measures its programs in turn with ours.",
};

const DECISION_FLAGS: readonly ProgramFlag[] = [
  { flag: "--quick", effect: "Short measurements: shows that everything works, and says little about speed." },
  {
    flag: "--only WORD",
    effect:
      "Measures only rows whose names, such as redis/8x64/weir, have this word; repeated: all words. " +
      "'earlier' measures each row of Weir with that of the earlier commit, and nothing else.",
  },
  { flag: "--write", effect: "Writes the results into docs/benchmarks-results.json and the pages made from it." },
];

/** The help of a benchmark with these measures; of the one of decisions without. */
export function benchUsage(measures: readonly string[]): { usage: string; flags: readonly ProgramFlag[] } {
  if (measures.length === 0)
    return {
      usage: "[ROUNDS] [--quick] [--only WORD]... [--against COMMIT] [--write]",
      flags: [AGAINST, ...DECISION_FLAGS],
    };
  return { usage: `[ROUNDS] [${measures.join("|")}]... [--against COMMIT]`, flags: [AGAINST] };
}

/** Reads the command line. Throws BENCHMARK_FAILED for the first invalid argument. */
export function parseBenchArguments(args: readonly string[], measures: readonly string[] = []): BenchArguments {
  const { values, positionals } = read(args, measures);
  const { quick: isQuick = false, only = [], write: isWritten = false, against } = values;
  const hasRounds = /^[1-9]\d?$/.test(positionals[0] ?? "");
  const names = hasRounds ? positionals.slice(1) : positionals;
  const unknown = names.find((name) => !measures.includes(name));
  if (unknown !== undefined) throw invalid(unknown, measures);
  if (isWritten && only.length > 0)
    throw new E2eError("BENCHMARK_FAILED", "Cannot write the results of some rows: --write goes without --only");
  const usual = ROUNDS_DEFAULT[measures.length > 0 ? "named" : isQuick ? "quick" : "thorough"];
  return { rounds: hasRounds ? Number(positionals[0]) : usual, names, against, isQuick, only, isWritten };
}

function read(args: readonly string[], measures: readonly string[]) {
  const named = { against: { type: "string" } } as const;
  const all = {
    ...named,
    quick: { type: "boolean" },
    only: { type: "string", multiple: true },
    write: { type: "boolean" },
  } as const;
  try {
    const options = (measures.length > 0 ? named : all) as typeof all;
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (cause) {
    throw invalid(args.at(-1) ?? "", measures, cause);
  }
}

function invalid(text: string, measures: readonly string[], cause?: unknown): E2eError {
  const allowed =
    measures.length > 0 ? [...measures, "--against COMMIT"] : ["--quick", "--only WORD", "--against COMMIT", "--write"];
  const message = `Cannot measure with '${text}': allowed are a number of rounds from 1 to 99, ${allowed.join(", ")}`;
  return new E2eError("BENCHMARK_FAILED", message, { cause });
}
