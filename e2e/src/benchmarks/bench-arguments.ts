// The command line of `make bench`.
import { E2eError } from "../errors.ts";

/** What to measure, and how thoroughly. */
export interface BenchArguments {
  /**
   * How often each variant is measured; the variants take turns, so that a change of the machine
   * meets all of them.
   */
  readonly rounds: number;
  /** Short measurements: shows that everything works, and says little about speed. */
  readonly isQuick: boolean;
  /** An earlier commit whose server is measured beside ours. */
  readonly against: string | undefined;
}

/** What follows the name of the program. */
export const BENCH_USAGE = "[ROUNDS] [--quick] [--against COMMIT]";

const ROUNDS_DEFAULT = { quick: 1, thorough: 3 } as const;

/** Reads them. Throws BENCHMARK_FAILED about the first argument that is none. */
export function parseBenchArguments(args: readonly string[]): BenchArguments {
  let rounds: number | undefined;
  let against: string | undefined;
  let isQuick = false;
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? "";
    const [, inline] = /^--against=(.+)$/.exec(argument) ?? [];
    if (argument === "--quick") isQuick = true;
    else if (inline !== undefined) against = inline;
    else if (argument === "--against") against = commitAfter(args[++index]);
    else rounds = parseRounds(argument);
  }
  return { rounds: rounds ?? ROUNDS_DEFAULT[isQuick ? "quick" : "thorough"], isQuick, against };
}

function commitAfter(text: string | undefined): string {
  if (text === undefined || text === "")
    throw new E2eError("BENCHMARK_FAILED", "Cannot compare: --against needs a commit behind it");
  return text;
}

function parseRounds(text: string): number {
  if (!/^[1-9]\d?$/.test(text)) {
    throw new E2eError(
      "BENCHMARK_FAILED",
      `Cannot measure with '${text}': allowed are a number of rounds from 1 to 99, --quick and --against COMMIT`,
    );
  }
  return Number(text);
}
