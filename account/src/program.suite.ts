// The program weir-account as a process, for tests: with an environment, and a limit on its file
// descriptors.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

/** A program that was started. */
export interface Program {
  readonly child: ChildProcess;
  /** Everything that it has written. */
  readonly output: () => string;
  readonly exited: Promise<number | null>;
}

/** Programs with data in one folder. */
export class Programs {
  readonly #folder = makeTemporaryFolder();
  readonly #programs: Program[] = [];

  /** The folder of their data. */
  get folder(): string {
    return this.#folder.path;
  }

  /**
   * Starts one on free ports with cheap hashes and without limits; `env` adds to its environment, `args` are its arguments,
   * `descriptors` is the most file descriptors that it may open.
   */
  start(
    env: Readonly<Record<string, string>>,
    { args = [], descriptors }: { readonly args?: readonly string[]; readonly descriptors?: number } = {},
  ): Program {
    const base = {
      PATH: String(process.env["PATH"]),
      PORT: "0",
      METRICS_PORT: "0",
      DATA_DIR: this.folder,
      BCRYPT_COST: "4",
      RATE_LIMIT_FAILURE: "open",
      SHUTDOWN_DRAIN: "0s",
    };
    const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
    const command = `${limit}exec "$0" --conditions=source "$@"`;
    const child = spawn("/bin/sh", ["-c", command, process.execPath, MAIN, ...args], {
      env: { ...base, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const exited = once(child, "close").then(([code]) => code as number | null);
    const program = { child, output: () => output, exited };
    this.#programs.push(program);
    return program;
  }

  /** Kills all of them, and removes the data. */
  async stop(): Promise<void> {
    for (const { child, exited } of this.#programs.splice(0)) {
      child.kill("SIGKILL");
      await exited;
    }
    this.#folder.remove();
  }
}

/** The origin of a program once it is ready. */
export function ready(program: Program): Promise<string> {
  return eventually("the program to be ready", () => {
    const url = /Account service ready.* url="?([^\s"]+)/.exec(program.output())?.[1];
    if (url === undefined) throw new Error(program.output());
    return url;
  });
}

/** The URL of the metrics of a program that is ready. */
export function metricsOf(program: Program): string {
  return /metrics="?([^\s"]+)/.exec(program.output())?.[1] ?? "";
}
