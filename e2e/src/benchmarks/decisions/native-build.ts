// Compiles what the benchmarks have in C: the sources of a folder of e2e, kept in the cache folder until they change.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@weir/harness/processes/programs";
import { E2eError } from "../../errors.ts";

const FLAGS = ["-O2", "-std=gnu11", "-Wall", "-Wextra"] as const;

/** Characters of the checksum in the name of the folder of what is built. */
const CHECKSUM_LENGTH = 12;

/** The file that is built from a folder, with the compiler's flags and libraries. */
export interface NativeBuild {
  /** Name of the file. */
  readonly output: string;
  readonly flags: readonly string[];
  readonly libraries: readonly string[];
}

/** Resolves with the path of what is built from `e2e/<folder>`, and compiles it when the sources changed. */
export async function buildNative(
  folder: string,
  { output, flags, libraries }: NativeBuild,
  cacheFolder: string,
): Promise<string> {
  const sourceFolder = join(ROOT, "e2e", folder);
  const files = readdirSync(sourceFolder).toSorted();
  const command = [...FLAGS, ...flags];
  const hash = createHash("sha256").update(command.join());
  for (const file of files) hash.update(file).update(readFileSync(join(sourceFolder, file)));
  const outputFolder = join(cacheFolder, `${folder}-${hash.digest("hex").slice(0, CHECKSUM_LENGTH)}`);
  const built = join(outputFolder, output);
  if (existsSync(built)) return built;
  mkdirSync(outputFolder, { recursive: true });
  const sources = files.filter((file) => file.endsWith(".c")).map((file) => join(sourceFolder, file));
  const fresh = `${built}.${process.pid}`;
  try {
    await promisify(execFile)("cc", [...command, "-o", fresh, ...sources, ...libraries]);
  } catch (cause) {
    const hint = "it needs a C compiler and the headers of OpenSSL (Debian: gcc libc6-dev libssl-dev)";
    const message = `Cannot build e2e/${folder}; ${hint}:\n${reasonOf(cause)}`;
    throw new E2eError("BENCHMARK_FAILED", message, { cause });
  }
  renameSync(fresh, built);
  return built;
}

/** A program's own words about its failure. */
export function reasonOf(cause: unknown): string {
  const { stderr = "" } = cause as { readonly stderr?: string };
  return stderr.trim() === "" ? String(cause) : stderr.trim();
}
