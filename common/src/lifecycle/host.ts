// The process of a program, behind an interface that tests replace. Only this file of the workspace
// uses `process`.
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Env } from "../settings/read-env.ts";

/** Width of the help when the output is not a terminal, in columns. */
const COLUMNS_DEFAULT = 100;

/** The parts of a process that a program may use. */
export interface ProgramHost {
  readonly args: readonly string[];
  readonly env: Env;
  /** Version of the workspace that the running script belongs to. */
  version(): string;
  /** Width of the terminal in columns. */
  columns(): number;
  /** A clock that only goes forward, in milliseconds. */
  nowMs(): number;
  /** Writes to standard output. */
  stdout(text: string): void;
  /** Writes to standard error. */
  stderr(text: string): void;
  /** Calls the listener at every such signal; replaces the default action of the signal. */
  onSignal(name: "SIGINT" | "SIGTERM" | "SIGHUP", listener: () => void): void;
  /** Calls the listener with every uncaught error, thrown or rejected. */
  onUncaught(listener: (error: unknown) => void): void;
  /**
   * Ends the process after its output is written; output that could not be written changes 0 to 1.
   */
  exit(code: number): void;
  /** Ends the process immediately, even with unwritten output. */
  exitNow(code: number): void;
}

/** The real process. */
export function nodeHost(): ProgramHost {
  let pendingCode = 0;
  process.stdout.on("error", (error) => endWithoutOutput(error, pendingCode));
  return {
    args: process.argv.slice(2),
    env: process.env,
    version: () => versionOf(process.argv[1] ?? ""),
    columns: () => (process.stdout.isTTY ? process.stdout.columns : COLUMNS_DEFAULT),
    nowMs: () => performance.now(),
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    onSignal: (name, listener) => void process.on(name, listener),
    onUncaught: (listener) => void process.on("uncaughtException", listener).on("unhandledRejection", listener),
    exit(code) {
      pendingCode = code;
      process.stderr.on("error", () => process.exit(code)); // Nothing is left to report to.
      // A pipe accepts only as much as its reader has space for, and an error of the output is
      // reported after this turn.
      process.stdout.write("", () => process.stderr.write("", () => setImmediate(() => process.exit(code))));
    },
    exitNow: (code) => process.exit(code),
  };
}

/**
 * A reader that has closed the pipe, as in `program | head`, is not a failure of the program;
 * output that could not be written, as on a full disk, is one.
 */
function endWithoutOutput(error: NodeJS.ErrnoException, pendingCode: number): never {
  if (error.code === "EPIPE") process.exit(pendingCode);
  process.stderr.write(`cannot write to standard output: ${error.message}\n`);
  process.exit(pendingCode === 0 ? 1 : pendingCode);
}

/** The version in the nearest package.json in or above the folder of a script; follows links. */
export function versionOf(script: string): string {
  for (let folder = dirname(realpathSync(script)); ; folder = dirname(folder)) {
    const version = versionIn(join(folder, "package.json"));
    if (version !== undefined) return version;
    if (dirname(folder) === folder) return "unknown";
  }
}

function versionIn(packageFile: string): string | undefined {
  try {
    const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined; // No such file here: the caller tries the parent folder.
  }
}
