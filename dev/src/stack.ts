// The local stack as one thing that starts and stops: certificates, the three programs in the order
// of the configuration flow, and the watch over them. It prints what it does; run.ts decides when
// it ends.
import { createWriteStream, existsSync, statSync, writeFileSync } from "node:fs";
import type { WriteStream } from "node:fs";
import { isAbsolute, join } from "node:path";
import { describeError } from "@weir/common/errors/service-error";
import { makeFolder } from "@weir/common/files/make-folder";
import { DevError } from "./errors.ts";
import { drawAvatar } from "./avatar.ts";
import type { DevelopmentCertificates } from "./certificates.ts";
import { ensureCertificates } from "./certificates.ts";
import type { Guard } from "./guard.ts";
import { startGuard } from "./guard.ts";
import { describeStack } from "./guide.ts";
import { describeLogLine } from "./log-lines.ts";
import { STACK_HOST, claimPorts } from "./ports.ts";
import type { ProcessGroup } from "./process-group.ts";
import { describeExit, startProcess } from "./process-group.ts";
import type { ProgramPlan } from "./programs.ts";
import { machineEnv, planPrograms } from "./programs.ts";
import { endedError, waitUntilReady } from "./ready.ts";
import type { RolloutWatch } from "./rollout-watch.ts";
import { watchRollout } from "./rollout-watch.ts";
import type { StackPorts, StackSettings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Longest wait for one program to become ready, in milliseconds; on an idle machine it takes a
 * fraction of it. One that ends is told at once.
 */
const READY_TIMEOUT_MS = 60_000;

/**
 * How long the programs together may take to stop before they are killed, in milliseconds. The
 * promise is 5 s for everything.
 */
const STOP_GRACE_MS = 3500;

/** What the stack is started from. */
export interface StackOptions {
  readonly settings: StackSettings;
  /** Root of the repository, absolute. */
  readonly root: string;
  /** The environment of the machine; only the few variables of programs.ts reach the programs. */
  readonly machine: Readonly<Record<string, string | undefined>>;
}

/** The running stack. */
export interface Stack {
  /**
   * Resolves with the reason when a program ends by itself; never while all run or after stop() was
   * called.
   */
  readonly failed: Promise<DevError>;
  /** Stops the programs in the reverse order of their start. */
  stop(): Promise<void>;
  /** Kills everything at once; synchronous, so that it works while this process ends. */
  kill(): void;
}

/** A stack that has not started yet: it can be killed at any time, also half started. */
export function createStack(
  deps: { readonly terminal: Terminal },
  options: StackOptions,
): Stack & { start(): Promise<void> } {
  return new LocalStack(deps.terminal, options);
}

class LocalStack implements Stack {
  readonly failed: Promise<DevError>;
  private fail: (error: DevError) => void = () => undefined;
  private readonly terminal: Terminal;
  private readonly options: StackOptions;
  private readonly sourceDirectory: string;
  private readonly runDirectory: string;
  private readonly programs: ProcessGroup[] = [];
  private readonly logs: WriteStream[] = [];
  private guard: Guard | undefined;
  private watch: RolloutWatch | undefined;
  private state: "starting" | "ready" | "stopping" = "starting";

  constructor(terminal: Terminal, options: StackOptions) {
    this.terminal = terminal;
    this.options = options;
    this.sourceDirectory = absolute(options.root, options.settings.sourceDirectory);
    this.runDirectory = absolute(options.root, options.settings.runDirectory);
    this.failed = new Promise((resolve) => {
      this.fail = resolve;
    });
  }

  async start(): Promise<void> {
    const { terminal, options } = this;
    this.checkPlace();
    const ports = await claimPorts(options.settings.ports);
    const certificates = await this.prepareFiles();
    const plans = planPrograms({
      ports,
      certificates,
      // As the person wrote it, so that messages name files as the person does; programs run in the
      // root.
      sourceDirectory: options.settings.sourceDirectory,
      accountDirectory: join(this.runDirectory, "account"),
      machine: options.machine,
    });
    this.guard = startGuard(machineEnv(options.machine));

    // The account service does not need the others, so it starts beside them; the pod cannot be
    // ready before the control plane.
    await Promise.all([this.startProgram(plans.account), this.startFlow(plans, ports)]);
    if (this.isStopping()) return;
    this.state = "ready";
    terminal.plain(this.describe(ports));
  }

  // The configuration flow from the manifests to the pod; ready when the pod has accepted the first
  // version.
  private async startFlow(
    plans: { readonly controlPlane: ProgramPlan; readonly rateLimit: ProgramPlan },
    ports: StackPorts,
  ): Promise<void> {
    await this.startProgram(plans.controlPlane);
    this.watch = watchRollout(`http://${STACK_HOST}:${ports.controlPlaneHttp}/status`, (speaker, text) =>
      this.say(speaker, text),
    );
    await this.startProgram(plans.rateLimit);
    await this.watch.firstAccepted(READY_TIMEOUT_MS);
  }

  async stop(): Promise<void> {
    this.state = "stopping";
    this.watch?.stop();
    const deadlineMs = performance.now() + STOP_GRACE_MS;
    for (const program of this.programs.toReversed()) {
      if (!program.isRunning()) continue;
      const exit = await program.stop("SIGTERM", Math.max(0, deadlineMs - performance.now()));
      const isClean = exit.code === 0;
      this.terminal.event(program.name, isClean ? "stopped" : `stopped with ${describeExit(exit)}`);
    }
    this.release();
  }

  kill(): void {
    this.state = "stopping";
    this.watch?.stop();
    for (const program of this.programs) program.kill();
    this.release();
  }

  // A method, as the state changes while a start waits.
  private isStopping(): boolean {
    return this.state === "stopping";
  }

  private release(): void {
    this.guard?.release();
    this.guard = undefined;
    for (const log of this.logs) log.end();
    this.logs.length = 0;
  }

  // Everything a person may have got wrong, before anything is started.
  private checkPlace(): void {
    for (const launcher of ["weir-control-plane", "weir-ratelimit", "weir-account"]) {
      const path = this.launcherPath(launcher);
      if (!existsSync(path))
        throw new DevError("STACK_NOT_BUILT", `Cannot start ${launcher}: ${path} does not exist; run make build`);
    }
    if (statSync(this.sourceDirectory, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new DevError(
        "STACK_FOLDER_UNUSABLE",
        `Cannot serve manifests: SOURCE_DIRECTORY is ${this.sourceDirectory}, which is not a folder`,
      );
    }
  }

  private async prepareFiles(): Promise<DevelopmentCertificates> {
    try {
      return await this.writeFiles();
    } catch (cause) {
      // Only the file system can refuse here, and where it does the person can do something about
      // it.
      throw new DevError("STACK_FOLDER_UNUSABLE", `Cannot use RUN_DIRECTORY: ${describeError(cause)}`, { cause });
    }
  }

  private async writeFiles(): Promise<DevelopmentCertificates> {
    makeFolder(join(this.runDirectory, "logs"));
    makeFolder(join(this.runDirectory, "account"), { mode: 0o700 });
    writeFileSync(join(this.runDirectory, "avatar.png"), drawAvatar());
    const certificates = await ensureCertificates(join(this.runDirectory, "certificates"), {
      hostNames: ["localhost", STACK_HOST],
      now: new Date(),
    });
    const made = certificates.renewed.length === 0 ? "still good" : `made for ${certificates.renewed.join(", ")}`;
    this.terminal.progress("certificates", `${made} (${this.options.settings.runDirectory}/certificates)`);
    return certificates;
  }

  private async startProgram(plan: ProgramPlan): Promise<void> {
    if (this.isStopping()) return;
    const log = createWriteStream(join(this.runDirectory, "logs", `${plan.launcher}.log`), { mode: 0o600 });
    this.logs.push(log);
    const program = await startProcess({
      name: plan.name,
      command: this.launcherPath(plan.launcher),
      args: [],
      env: plan.env,
      cwd: this.options.root,
      onLine: (line) => {
        log.write(`${line}\n`);
        const text = describeLogLine(line);
        if (text !== undefined) this.say(plan.name, text);
      },
    });
    this.programs.push(program);
    if (this.isStopping()) program.kill(); // Told to stop while the process was being made.
    this.guard?.watch(program.pid);
    void program.exited.then((exit) => {
      if (!this.isStopping()) this.fail(endedError(program, describeExit(exit)));
    });
    await waitUntilReady(program, plan.readyUrl, READY_TIMEOUT_MS);
    this.terminal.progress(plan.name, "ready");
  }

  private say(speaker: string, text: string): void {
    if (this.isStopping()) return;
    if (this.state === "ready") this.terminal.event(speaker, text);
    else this.terminal.progress(speaker, text);
  }

  private describe(ports: StackPorts): string {
    const { sourceDirectory, runDirectory } = this.options.settings;
    return describeStack({ ports, sourceDirectory, runDirectory });
  }

  private launcherPath(launcher: string): string {
    return join(this.options.root, "node_modules", ".bin", launcher);
  }
}

function absolute(root: string, path: string): string {
  return isAbsolute(path) ? path : join(root, path);
}
