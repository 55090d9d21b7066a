// The program weir-account as a process, for tests: with an environment, and a limit on its file
// descriptors.
import { fileURLToPath } from "node:url";
import { type Program, startProgram } from "@weir/harness/processes/start-process";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

/** Settings of every service of tests: free ports, cheap hashes, no limits. */
export const BASE_ENV = {
  PORT: "0",
  METRICS_PORT: "0",
  BCRYPT_COST: "4",
  RATE_LIMIT_FAILURE: "open",
  SHUTDOWN_DRAIN: "0s",
} as const;

/** Programs with data in one folder. */
export class Programs {
  readonly #folder = makeTemporaryFolder();
  readonly #programs: Program[] = [];

  /** The folder of their data. */
  get folder(): string {
    return this.#folder.path;
  }

  /**
   * Starts one; `env` adds to its environment, `args` are its arguments, `descriptors` is the most file descriptors that
   * it may open.
   */
  start(
    env: Readonly<Record<string, string>>,
    { args = [], descriptors }: { readonly args?: readonly string[]; readonly descriptors?: number } = {},
  ): Program {
    const whole = { ...BASE_ENV, DATA_DIR: this.folder, ...env };
    const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
    const command = `${limit}exec "$0" --conditions=source "$@"`;
    const program = startProgram("/bin/sh", ["-c", command, process.execPath, MAIN, ...args], whole);
    this.#programs.push(program);
    return program;
  }

  /** Kills all of them, and removes the data. */
  async stop(): Promise<void> {
    for (const program of this.#programs.splice(0)) await program.end();
    this.#folder.remove();
  }
}

/** The origin of a program once it is ready. */
export async function ready(program: Program): Promise<string> {
  return (await program.find(/Account service ready.* url="?([^\s"]+)/))[1]!;
}

/** The URL of the metrics of a program that is ready. */
export function metricsOf(program: Program): string {
  return /metrics="?([^\s"]+)/.exec(program.text())?.[1] ?? "";
}
