// The process around a program, as an interface that tests can stand in for. Nothing else in this workspace touches `process`.
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Env } from "../settings/read-env.ts";

/** Width of the help where the terminal does not tell one, in columns. */
const COLUMNS_DEFAULT = 100;

/** A process, as far as a program may touch it. */
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
  /** Calls the listener at every such signal, instead of what the signal does by itself. */
  onSignal(name: "SIGINT" | "SIGTERM" | "SIGHUP", listener: () => void): void;
  /** Calls the listener with every error that nobody caught, thrown or rejected. */
  onUncaught(listener: (error: unknown) => void): void;
  /** Ends the process; with 0 only once the output is out, which may turn the 0 into a 1. */
  exit(code: number): void;
}

/** The real process. */
export function nodeHost(): ProgramHost {
  process.stdout.on("error", endWithoutOutput);
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
      if (code !== 0) process.exit(code);
      // What went wrong with the output is told only after this turn: success must wait for it.
      process.stdout.write("", () => setImmediate(() => process.exit(0)));
    },
  };
}

/** A reader that went away, as in `program | head`, is no failure of the program; output that could not be written, as on a full disk, is one. */
function endWithoutOutput(error: NodeJS.ErrnoException): never {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`cannot write to standard output: ${error.message}\n`);
  process.exit(1);
}

/** The version in the nearest package.json at or above the folder of a script; links are followed. */
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
    return undefined; // No such file here: the caller goes on one folder further up.
  }
}
