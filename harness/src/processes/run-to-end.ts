// Runs a program of the machine to its end.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Longest output of one command, in bytes. */
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** The result of a command. */
export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Does not throw when it fails. `input` is its standard input; `env`, if given, its whole environment. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  input = "",
  env?: Readonly<Record<string, string>>,
): Promise<ProgramResult> {
  const running = promisify(execFile)(command, args, {
    maxBuffer: OUTPUT_MAX_BYTES,
    ...(env !== undefined && { env }),
  });
  running.child.stdin?.on("error", () => {
    // A command that fails early does not read its input; its exit code says so.
  });
  running.child.stdin?.end(input);
  try {
    return { code: 0, ...(await running) };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: number | string; stdout?: string; stderr?: string };
    if (typeof code !== "number") throw error; // It could not even be started.
    return { code, stdout, stderr };
  }
}
