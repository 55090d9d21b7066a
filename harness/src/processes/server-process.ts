// A real server as a child process of a test. Its output goes to a file, and it is ended by its
// process id, whatever state it is in.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { boundCommand } from "./bound-command.ts";
import { eventually } from "./eventually.ts";
import { pauseProcess } from "./pause-process.ts";

/** Most characters of a log that a failure shows. */
const LOG_TAIL_LENGTH = 2_000;

/** The program to run, and the file of its log. */
export interface ServerProcessOptions {
  /** Its name in failures. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** File that its output is appended to. */
  readonly logPath: string;
  /** True if it leads a process group of its own, which a Ctrl-C at the terminal does not reach. */
  readonly isGroupLeader?: boolean;
}

/** A server that can be started, paused, ended and started again. */
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

  /** Starts it; the caller waits until it serves. */
  start(): void {
    const { command, args, logPath, isGroupLeader = false } = this.#options;
    const log = openSync(logPath, "a");
    try {
      this.#child = spawn(...boundCommand(command, args), { stdio: ["ignore", log, log], detached: isGroupLeader });
    } finally {
      closeSync(log);
    }
  }

  /**
   * Starts it and repeats `attempt` until that does not throw. Throws with the end of its log when it
   * ends before that or takes too long, and leaves no process.
   */
  async startAndWait(attempt: () => void | Promise<void>): Promise<void> {
    const { name } = this.#options;
    this.start();
    const failedToStart = once(this.#child!, "error").then(([error]) => Promise.reject(error as Error));
    try {
      const serves = eventually(`${name} to serve`, async () => {
        if (this.pid === undefined) return false;
        await attempt();
        return true;
      });
      if (!(await Promise.race([serves, failedToStart]))) throw new Error(`${name} ended`);
    } catch (cause) {
      await this.kill();
      throw new Error(`Cannot start ${name}: ${String(cause)}. ${this.logTail()}`, { cause });
    }
  }

  /** The end of its log, for failures. */
  logTail(): string {
    const { name, logPath } = this.#options;
    return `The end of the log of ${name}:\n${readFileSync(logPath, "utf8").slice(-LOG_TAIL_LENGTH)}`;
  }

  /** Stops all of its threads by SIGSTOP: it neither reads nor answers. Resolves when they are stopped. */
  async pause(): Promise<void> {
    await pauseProcess(this.pid);
  }

  /** Continues after {@link pause}. */
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Kills it, as a crash would; it can be started again. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }
}
