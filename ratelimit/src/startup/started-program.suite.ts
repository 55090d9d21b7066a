// Equipment of the tests that run programs: starts them, hears what they write, and ends them. The
// rate limit service listens on ports that no other process uses.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** How long a program may take for what a test waits for, in milliseconds. */
export const WAIT = { timeout: 60_000, interval: 50 };

const DAY_MS = 86_400_000;

/** Environment of a rate limit service whose listeners take free ports of 127.0.0.1. */
export const FREE_PORTS = {
  HOST: "127.0.0.1",
  PORT: "0",
  GRPC_HOST: "127.0.0.1",
  GRPC_PORT: "0",
  DEBUG_HOST: "127.0.0.1",
  DEBUG_PORT: "0",
} as const;

/**
 * Time before midnight UTC in which no test with limits per day begins, in milliseconds: long
 * enough for the calls of each.
 */
const MIDNIGHT_MARGIN_MS = 40_000;

/** Resolves when no window of a day ends soon, so that a test can count on one. */
export async function clearOfMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < MIDNIGHT_MARGIN_MS) await new Promise((resolve) => setTimeout(resolve, leftMs + 100));
}

/** A program under test or a helper of the test. */
export interface StartedProgram {
  /** Its process; undefined when it could not be started. */
  readonly pid: number | undefined;
  /** What it has written to standard output, and to standard error. */
  output(): string;
  errors(): string;
  /** Ends it with the signal and answers its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts a program. When it does not exist, it fails like one that ends immediately: a wait for its
 * output fails with the reason.
 */
export function startProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): StartedProgram {
  const child: ChildProcess = spawn(command, args, {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise<number | null>((resolve) => {
    child.on("close", (code) => resolve(code));
    child.on("error", (error) => {
      errors += `cannot start ${command}: ${error.message}; node tools/test/test-setup.ts installs it`;
      resolve(null);
    });
  });
  let output = "";
  let errors = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  return {
    pid: child.pid,
    output: () => output,
    errors: () => errors,
    stop(signal = "SIGKILL") {
      child.kill(signal);
      return exited;
    },
  };
}

/** Runs a program with this input to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  input: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.on("error", () => undefined); // It may end before it has read everything; its exit code reports that.
  child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
