// Builds the load generator, a C program, and runs it. Its sources are in e2e/load-generator.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { E2eError } from "../../errors.ts";
import { buildNative, reasonOf } from "./native-build.ts";

/** Its report about the measured time. */
export interface GeneratorReport {
  readonly answers: number;
  /** Also those before and after the measured time. */
  readonly allAnswers: number;
  readonly seconds: number;
  /** Times of calls, also of those without an answer at the end, which count with their waiting. */
  readonly p50Micros: number;
  readonly p90Micros: number;
  readonly p99Micros: number;
  readonly p999Micros: number;
  readonly maxMicros: number;
  readonly generatorCpuMs: number;
  readonly watched: readonly { readonly pid: number; readonly cpuMs: number; readonly residentBytes: number }[];
}

/** Resolves with the path of the program, and compiles it when its sources changed. */
export function buildGenerator(cacheFolder: string): Promise<string> {
  const options = { output: "load-generator", flags: [], libraries: ["-lssl", "-lcrypto", "-lm"] };
  return buildNative("load-generator", options, cacheFolder);
}

/** Runs it with these words in front. Throws BENCHMARK_FAILED with its own words when it fails. */
export async function runGenerator(
  command: readonly string[],
  args: readonly string[],
  what: string,
): Promise<GeneratorReport> {
  const [program = "", ...words] = [...command, ...args];
  try {
    const { stdout } = await promisify(execFile)(program, words);
    return JSON.parse(stdout) as GeneratorReport;
  } catch (cause) {
    throw new E2eError("BENCHMARK_FAILED", `Cannot measure ${what}: ${reasonOf(cause)}`, { cause });
  }
}
