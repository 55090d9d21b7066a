// Builds the load generator, a C program, and runs it. Its sources are in e2e/load-generator.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { E2eError } from "../../errors.ts";
import { ROOT } from "@weir/harness/processes/programs";

const SOURCE_FOLDER = join(ROOT, "e2e", "load-generator");

const FLAGS = ["-O2", "-std=gnu11", "-Wall", "-Wextra"] as const;
const LIBRARIES = ["-lssl", "-lcrypto", "-lm"] as const;

/** Characters of the checksum in the name of the program's folder. */
const CHECKSUM_LENGTH = 12;

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
export async function buildGenerator(cacheFolder: string): Promise<string> {
  const files = readdirSync(SOURCE_FOLDER).toSorted();
  const hash = createHash("sha256").update(FLAGS.join());
  for (const file of files) hash.update(file).update(readFileSync(join(SOURCE_FOLDER, file)));
  const folder = join(cacheFolder, `load-generator-${hash.digest("hex").slice(0, CHECKSUM_LENGTH)}`);
  const program = join(folder, "load-generator");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const sources = files.filter((file) => file.endsWith(".c")).map((file) => join(SOURCE_FOLDER, file));
  const fresh = `${program}.${process.pid}`;
  try {
    await promisify(execFile)("cc", [...FLAGS, "-o", fresh, ...sources, ...LIBRARIES]);
  } catch (cause) {
    const reason = reasonOf(cause);
    const hint = "it needs a C compiler and the headers of OpenSSL (Debian: gcc libc6-dev libssl-dev)";
    throw new E2eError("BENCHMARK_FAILED", `Cannot build the load generator; ${hint}:\n${reason}`, { cause });
  }
  renameSync(fresh, program);
  return program;
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

/** The program's own words about its failure. */
function reasonOf(cause: unknown): string {
  const { stderr = "" } = cause as { readonly stderr?: string };
  return stderr.trim() === "" ? String(cause) : stderr.trim();
}
