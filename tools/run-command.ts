// Starts a program for a tool and waits for it. Programs of the packages come first on the PATH, so
// that `node` is the packaged one.
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";

/** How a program ended. */
export interface CommandResult {
  /** Exit code; 1 when it could not start or a signal ended it. */
  readonly code: number;
  /** The text that it wrote to both outputs; empty when they were passed through. */
  readonly output: string;
  readonly durationMs: number;
}

/** Options that may differ from command to command. */
export interface CommandOptions {
  /**
   * The destination of its outputs: kept for the caller, or passed straight to this process's own outputs.
   * Default: kept.
   */
  readonly output?: "keep" | "pass";
  /**
   * Added to the environment. A PATH replaces the machine's; the packages' programs come first all
   * the same.
   */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs `command` and resolves when it has ended; never rejects. */
export function runCommand(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [program = "", ...args] = command;
  const startedMs = performance.now();
  const path = `${join(process.cwd(), "node_modules/.bin")}${delimiter}${options.env?.["PATH"] ?? process.env["PATH"] ?? ""}`;
  const stdio = options.output === "pass" ? "inherit" : "pipe";
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env: { ...process.env, ...options.env, PATH: path },
      stdio: ["ignore", stdio, stdio],
    });
    const chunks: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => chunks.push(chunk));
    const end = (code: number, more = ""): void => {
      resolve({ code, output: Buffer.concat(chunks).toString() + more, durationMs: performance.now() - startedMs });
    };
    child.once("error", (error) => {
      end(1, `Cannot start ${program}: ${error.message}\n`);
    });
    child.once("close", (code, signal) => {
      end(code ?? 1, signal === null ? "" : `${program} was ended by ${signal}\n`);
    });
  });
}
