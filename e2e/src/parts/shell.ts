// Runs one command line as a person would in a terminal, and keeps what it wrote.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** Longest time of one command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 60_000;

/** How a command ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `command` in a POSIX shell in the folder `cwd`. */
export async function runCommand(
  command: string,
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<CommandResult> {
  const child = spawn("/bin/sh", ["-c", command], {
    cwd: options.cwd,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: COMMAND_TIMEOUT_MS,
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
