// One program as a process group of its own: a Ctrl-C at the terminal does not reach it, and every
// process that it starts ends with it. Keeps its last lines for the report of a crash.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { DevError } from "../errors.ts";

/** How many of the last lines are kept for a report. */
const LAST_LINES_MAX = 20;

/**
 * How long after its end a program's remaining output is awaited, in milliseconds; a grandchild in
 * a session of its own may hold the pipe open. Long, because a busy machine may not have let us
 * read yet what the program wrote last.
 */
const OUTPUT_GRACE_MS = 2000;

/** Time between two requests of its readiness, in milliseconds. */
const READY_INTERVAL_MS = 40;

/** Longest wait for one response about its readiness, in milliseconds. */
const RESPONSE_TIMEOUT_MS = 1000;

/** How to start a program. */
export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  /** Its whole environment. */
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

/** Starts a program in its own process group. Rejects when the program cannot be started at all. */
export function startProcess(options: ProcessOptions): Promise<ProcessGroup> {
  return new Promise((resolve, reject) => {
    const child = spawn(options.command, options.args ?? [], {
      detached: true, // A session and process group of its own, led by the child.
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    child.once("error", reject);
    child.once("spawn", () => resolve(new ProcessGroup(options, child, child.pid!)));
  });
}

/** How a program ended, in words. */
export function describeExit(exit: ProcessExit): string {
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}

/** A started program. */
export class ProcessGroup {
  readonly name: string;
  /** The process, and at the same time its process group. */
  readonly pid: number;
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  #isRunning = true;
  readonly #lines: string[] = [];

  constructor({ name, onLine }: ProcessOptions, child: ChildProcess, pid: number) {
    this.name = name;
    this.pid = pid;
    const closed = once(child, "close");
    for (const input of [child.stdout!, child.stderr!]) {
      createInterface({ input, crlfDelay: Infinity }).on("line", (line) => {
        this.#lines.push(line);
        if (this.#lines.length > LAST_LINES_MAX) this.#lines.shift();
        onLine?.(line);
      });
    }
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#isRunning = false;
        this.signal("SIGKILL"); // Processes that it started itself must not outlive it.
        const timer = setTimeout(() => resolve({ code, signal }), OUTPUT_GRACE_MS);
        void closed.then(() => {
          clearTimeout(timer);
          resolve({ code, signal });
        });
      });
    });
  }

  /** Returns true until the process has ended. */
  isRunning(): boolean {
    return this.#isRunning;
  }

  /** The last lines it wrote, oldest first. */
  lastLines(): readonly string[] {
    return this.#lines;
  }

  /**
   * Resolves when `url` responds with status 200. Throws STACK_PROGRAM_ENDED when the program ends
   * first and STACK_NOT_READY when `timeoutMs` have passed; both carry its last lines.
   */
  async waitUntilReady(url: string, timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    let last = "no response";
    while (performance.now() < deadlineMs) {
      if (!this.#isRunning) throw this.endedError(await this.exited);
      last = await statusOf(url);
      if (last === "200") return;
      await delay(READY_INTERVAL_MS);
    }
    const message = `${this.name} was not ready after ${timeoutMs / 1000} s: ${url} gave ${last}`;
    throw new DevError("STACK_NOT_READY", `${message}${this.#describeLines()}`);
  }

  /** The error for a program that ended by itself, with its last lines. */
  endedError(exit: ProcessExit): DevError {
    const message = `${this.name} ended by itself with ${describeExit(exit)}`;
    return new DevError("STACK_PROGRAM_ENDED", `${message}${this.#describeLines()}`);
  }

  /**
   * Asks the process to end with `signal`, and kills the whole group when `graceMs` have passed.
   * Resolves when it has ended.
   */
  async stop(signal: "SIGTERM" | "SIGINT", graceMs: number): Promise<ProcessExit> {
    if (this.#isRunning) this.signal(signal);
    const timer = setTimeout(() => this.kill(), graceMs);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }

  /** Kills the whole group now. Safe at any time, also from a process that is ending itself. */
  kill(): void {
    if (this.#isRunning) this.signal("SIGKILL");
  }

  /** Sends a signal to the whole group, if it still exists. */
  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // The whole group has ended.
    }
  }

  #describeLines(): string {
    if (this.#lines.length === 0) return "; it wrote nothing";
    return `; its last lines:\n${this.#lines.map((line) => `  ${line}`).join("\n")}`;
  }
}

async function statusOf(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) });
    await response.body?.cancel();
    return String(response.status);
  } catch {
    return "no response"; // It does not listen yet.
  }
}
