// A real server as a child process of a test: its output goes to a file, and it is ended by its
// process id, whatever state it is in.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { pauseProcess } from "./pause-process.ts";

/** Most characters of a log that a failure shows. */
const LOG_TAIL_LENGTH = 2_000;

/** What to run. */
export interface ServerProcessOptions {
  /** What it is called in failures. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** File that its output is appended to. */
  readonly logPath: string;
}

/** A server that can be started, held, ended and started again. */
export class ServerProcess {
  readonly #options: ServerProcessOptions;
  #child: ChildProcess | undefined;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  /** Its process id; undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.exitCode === null && this.#child.signalCode === null ? this.#child.pid : undefined;
  }

  /** Starts it; that it serves is for the caller to await. */
  start(): void {
    const { command, args, logPath } = this.#options;
    const log = openSync(logPath, "a");
    try {
      this.#child = spawn(command, args, { stdio: ["ignore", log, log] });
    } finally {
      closeSync(log);
    }
  }

  /** The end of its log, for failures. */
  logTail(): string {
    const { name, logPath } = this.#options;
    return `The end of the log of ${name}:\n${readFileSync(logPath, "utf8").slice(-LOG_TAIL_LENGTH)}`;
  }

  /** Lets it neither read nor answer; resolves when it stands still. */
  async pause(): Promise<void> {
    await pauseProcess(this.pid);
  }

  /** Lets it go on. */
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Ends it at once, as a crash would; it can be started again. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return; // Not started, or gone already.
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }
}
