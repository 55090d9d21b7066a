// Starts programs for tests and keeps what they write. They end with the process that starts them, even when that is
// killed.
import { type ChildProcess, spawn } from "node:child_process";
import { basename } from "node:path";
import { ProcessGroup, type ProcessOptions } from "@weir/dev/processes/process-group";
import { boundCommand } from "./bound-command.ts";
import { eventually } from "./eventually.ts";
import { pauseProcess } from "./pause-process.ts";
import { machine } from "./tools.ts";

/** How to start a program. */
interface ProgramOptions extends ProcessOptions {
  /** True if it leads a process group, which gets its signals and ends with it; otherwise it is alone. */
  readonly isGroup?: boolean;
  /** True if the test writes to its standard input, which is otherwise empty. */
  readonly hasInput?: boolean;
}

/** Starts a program in its own process group, as the local stack does. */
export function startProcess(options: ProcessOptions): Promise<Program> {
  return Promise.resolve(new Program({ ...options, isGroup: true }));
}

/** Starts a program with `env` and the PATH of the test. One that does not exist ends immediately, and says so. */
export function startProgram(
  command: string,
  args: readonly string[],
  env: ProcessOptions["env"] = {},
  options: Pick<ProgramOptions, "cwd" | "hasInput" | "onLine"> = {},
): Program {
  const { PATH = "" } = machine();
  return new Program({ name: basename(command), command, args, env: { PATH, ...env }, ...options });
}

/** A started program. */
export class Program extends ProcessGroup {
  /** For its standard input and output. */
  readonly child: ChildProcess;
  /** Resolves with its exit code: null after a signal that it does not handle. */
  readonly code: Promise<number | null>;
  readonly #isGroup: boolean;
  readonly #written: { readonly to: "stdout" | "stderr"; readonly text: string }[] = [];

  constructor(options: ProgramOptions) {
    const { name, cwd, isGroup = false, hasInput = false } = options;
    const child = spawn(...boundCommand(options.command, options.args), {
      detached: isGroup,
      stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe"],
      env: { ...options.env },
      ...(cwd !== undefined && { cwd }),
    });
    child.once("error", () => undefined); // It has no process id then.
    if (child.pid === undefined) throw new Error(`Cannot start ${name}: setpriv of util-linux, or ${cwd} is missing`);
    super(options, child, child.pid);
    this.child = child;
    this.code = this.exited.then(({ code }) => code);
    this.#isGroup = isGroup;
    child.stdin?.on("error", () => undefined); // It may end before it has read everything.
    for (const to of ["stdout", "stderr"] as const)
      child[to]!.setEncoding("utf8").on("data", (text: string) => this.#written.push({ to, text }));
  }

  /** Text that it has written to standard output. */
  output(): string {
    return this.#textOf("stdout");
  }

  /** Text that it has written to standard error. */
  errors(): string {
    return this.#textOf("stderr");
  }

  /** Both, in the order of arrival. */
  text(): string {
    return this.#textOf();
  }

  /** Resolves with the first match in what it writes; throws when it ends without. */
  async find(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray> {
    const attempt = (): void => {
      if (this.isRunning() && !pattern.test(this.text())) throw new Error(this.text());
    };
    await eventually(`${this.name} to write ${pattern}`, attempt, timeoutMs);
    if (!this.isRunning()) await this.exited; // Now everything is read.
    const found = pattern.exec(this.text());
    if (found === null) throw this.endedError(await this.exited);
    return found;
  }

  /** Sends it the signal, unless it has ended; resolves with its exit code. */
  end(signal: NodeJS.Signals = "SIGKILL"): Promise<number | null> {
    if (this.isRunning()) this.signal(signal);
    return this.code;
  }

  /** Stops it until `resume`: it neither reads nor answers. */
  async pause(): Promise<void> {
    await pauseProcess(this.pid);
  }

  resume(): void {
    this.signal("SIGCONT");
  }

  override signal(signal: NodeJS.Signals): void {
    if (this.#isGroup) super.signal(signal);
    else this.child.kill(signal);
  }

  #textOf(wanted?: "stdout" | "stderr"): string {
    return this.#written.map(({ to, text }) => (wanted === undefined || to === wanted ? text : "")).join("");
  }
}
