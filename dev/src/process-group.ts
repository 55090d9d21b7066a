// One program of the stack as a process group of its own: a Ctrl-C at the terminal does not reach
// it, so the stack decides when it ends, and whatever it starts itself ends with it. Keeps the last
// lines it wrote, for the report of a crash.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** How many of the last lines are kept for a report. */
const LAST_LINES_MAX = 20;

/**
 * How long after its end a program's remaining output is awaited, in milliseconds; a grandchild in
 * a session of its own may hold the pipe open. Long, because a busy machine may not have let us
 * read yet what the program wrote last.
 */
const OUTPUT_GRACE_MS = 2000;

/** How to start a program. */
export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Called for every line on standard output and standard error, in the order of each. */
  readonly onLine?: (line: string) => void;
}

/** How a program ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A started program. */
export interface ProcessGroup {
  readonly name: string;
  /** The process, and at the same time its process group. */
  readonly pid: number;
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Whether the process has not ended yet. */
  isRunning(): boolean;
  /** The last lines it wrote, oldest first. */
  lastLines(): readonly string[];
  /**
   * Asks the process to end with `signal`, and kills the whole group when `graceMs` have passed.
   * Resolves when it has ended.
   */
  stop(signal: "SIGTERM" | "SIGINT", graceMs: number): Promise<ProcessExit>;
  /**
   * Kills the whole group now. Safe to call at any time, also from a process that is ending itself.
   */
  kill(): void;
}

/** Starts a program in its own process group. Rejects when the program cannot be started at all. */
export function startProcess(options: ProcessOptions): Promise<ProcessGroup> {
  return new Promise((resolve, reject) => {
    const child = spawn(options.command, options.args, {
      detached: true, // A session and process group of its own, led by the child.
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    child.once("error", reject);
    child.once("spawn", () => resolve(new ChildGroup(options, child, child.pid!)));
  });
}

/** How a program ended, in words. */
export function describeExit(exit: ProcessExit): string {
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}

class ChildGroup implements ProcessGroup {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
  private running = true;
  private readonly lines: string[] = [];

  constructor(options: ProcessOptions, child: ChildProcess, pid: number) {
    this.name = options.name;
    this.pid = pid;
    const keep = (line: string): void => {
      this.lines.push(line);
      if (this.lines.length > LAST_LINES_MAX) this.lines.shift();
      options.onLine?.(line);
    };
    const closed = once(child, "close");
    followLines(child.stdout!, keep);
    followLines(child.stderr!, keep);
    this.exited = new Promise<ProcessExit>((resolve) => {
      child.once("exit", (code, signal) => {
        this.running = false;
        this.signalGroup("SIGKILL"); // What the process started itself must not outlive it.
        const timer = setTimeout(() => resolve({ code, signal }), OUTPUT_GRACE_MS);
        void closed.then(() => {
          clearTimeout(timer);
          resolve({ code, signal });
        });
      });
    });
  }

  isRunning(): boolean {
    return this.running;
  }

  lastLines(): readonly string[] {
    return this.lines;
  }

  async stop(signal: "SIGTERM" | "SIGINT", graceMs: number): Promise<ProcessExit> {
    if (this.running) this.signalGroup(signal);
    const timer = setTimeout(() => this.kill(), graceMs);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }

  kill(): void {
    if (this.running) this.signalGroup("SIGKILL");
  }

  private signalGroup(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      // ESRCH: the whole group is gone already, which is what was asked for.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

function followLines(stream: Readable, onLine: (line: string) => void): void {
  createInterface({ input: stream, crlfDelay: Infinity }).on("line", onLine);
}
