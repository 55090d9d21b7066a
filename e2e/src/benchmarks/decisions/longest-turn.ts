// The longest turn of a server's event loop, measured by a library in C that the server is started with:
// e2e/longest-turn. The server's program does not know of it.
import { readFileSync, writeFileSync } from "node:fs";
import type { Env } from "@weir/harness/processes/programs";
import { buildNative } from "./native-build.ts";

/** The file without a turn: nanoseconds of processor time, of wall time, and when it began, of eight bytes each. */
const NONE = Buffer.alloc(24);

/** The turn of a server that took the most processor time. */
export interface Turn {
  readonly cpuMicros: number;
  readonly wallMicros: number;
}

/** Resolves with the path of the library. */
export function buildLongestTurn(cacheFolder: string): Promise<string> {
  const options = { output: "longest-turn.so", flags: ["-shared", "-fPIC"], libraries: ["-ldl"] };
  return buildNative("longest-turn", options, cacheFolder);
}

/** The settings of a server that keeps its longest turn in `file`. */
export function longestTurnEnv(library: string, file: string): Env {
  writeFileSync(file, NONE);
  return { LD_PRELOAD: library, LONGEST_TURN_FILE: file };
}

/** Forgets the turns so far. */
export function clearLongestTurn(file: string): void {
  writeFileSync(file, NONE, { flag: "r+" }); // Not truncated: the server has it in its memory.
}

/** The longest turn since they were forgotten. */
export function readLongestTurn(file: string): Turn {
  const bytes = readFileSync(file);
  const microsAt = (offset: number): number => Number(bytes.readBigUInt64LE(offset)) / 1000;
  return { cpuMicros: microsAt(0), wallMicros: microsAt(8) };
}
