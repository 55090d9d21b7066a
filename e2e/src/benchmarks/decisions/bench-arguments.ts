// The command line of `make bench`.
import { parseArgs } from "node:util";
import { E2eError } from "../../errors.ts";

/** The rows to measure, and the effort. */
export interface BenchArguments {
  /** Measurements of each row; the servers of a load take turns. */
  readonly rounds: number;
  /** Short measurements: shows that everything works, and says little about speed. */
  readonly isQuick: boolean;
  /** An earlier commit whose server is measured next to ours. */
  readonly against: string | undefined;
  /** Words that the name of a row, such as `redis/8x64/weir`, must have, all of them. */
  readonly only: readonly string[];
  /** Writes the results into docs/benchmarks-results.json. */
  readonly isWritten: boolean;
}

/** The usage behind the name of the program. */
export const BENCH_USAGE = "[ROUNDS] [--quick] [--only WORD]... [--against COMMIT] [--write]";

const ROUNDS_DEFAULT = { quick: 1, thorough: 3 } as const;

/** Reads the command line. Throws BENCHMARK_FAILED for the first invalid argument. */
export function parseBenchArguments(args: readonly string[]): BenchArguments {
  const { values, positionals } = read(args);
  const isQuick = values.quick ?? false;
  const [rounds = String(ROUNDS_DEFAULT[isQuick ? "quick" : "thorough"])] = positionals;
  if (!/^[1-9]\d?$/.test(rounds) || positionals.length > 1) throw invalid(positionals.at(-1) ?? rounds);
  const only = values.only ?? [];
  if (values.write === true && only.length > 0)
    throw new E2eError("BENCHMARK_FAILED", "Cannot write the results of some rows: --write goes without --only");
  return { rounds: Number(rounds), isQuick, against: values.against, only, isWritten: values.write ?? false };
}

function read(args: readonly string[]) {
  const options = {
    quick: { type: "boolean" },
    against: { type: "string" },
    only: { type: "string", multiple: true },
    write: { type: "boolean" },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (cause) {
    throw invalid(args.at(-1) ?? "", cause);
  }
}

function invalid(text: string, cause?: unknown): E2eError {
  const message = `Cannot measure with '${text}': allowed are a number of rounds from 1 to 99, --quick, --only WORD, --against COMMIT and --write`;
  return new E2eError("BENCHMARK_FAILED", message, { cause });
}
