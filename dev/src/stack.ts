// The local stack: prepares certificates, starts the three programs in the order of the
// configuration flow, watches them and stops them. It prints its progress.
import { createWriteStream, existsSync, statSync, writeFileSync } from "node:fs";
import type { WriteStream } from "node:fs";
import { isAbsolute, join } from "node:path";
import { describeError } from "@weir/common/errors/service-error";
import { makeFolder } from "@weir/common/files/make-folder";
import { DevError } from "./errors.ts";
import { describeStack, SAMPLE_AVATAR } from "./output/guide.ts";
import { describeLogLine } from "./output/log-lines.ts";
import { RolloutWatch } from "./output/rollout-watch.ts";
import type { Terminal } from "./output/terminal.ts";
import { Guard } from "./processes/guard.ts";
import { describeExit, type ProcessGroup, startProcess } from "./processes/process-group.ts";
import type { StackPorts, StackSettings } from "./settings.ts";
import { type DevelopmentCertificates, ensureCertificates } from "./setup/certificates.ts";
import { claimPorts, STACK_HOST } from "./setup/ports.ts";
import { machineEnv, planPrograms, type ProgramPlan } from "./setup/programs.ts";

/**
 * Longest wait for one program to become ready, in milliseconds; on an idle machine it takes a
 * fraction of it. The end of one is reported immediately.
 */
const READY_TIMEOUT_MS = 60_000;

/** Longest time of all programs together to stop before they are killed, in milliseconds. */
const STOP_GRACE_MS = 3500;

/** The options that the stack is started with. */
export interface StackOptions {
  readonly settings: StackSettings;
  /** Root of the repository, absolute. */
  readonly root: string;
  /** The environment of the machine; only the few variables of programs.ts reach the programs. */
  readonly machine: Readonly<Record<string, string | undefined>>;
}

/** The local stack. It can be killed at any time, also half started. */
export class Stack {
  /**
   * Resolves with the reason when a program ends by itself; never while all run or after stop() was
   * called.
   */
  readonly failed: Promise<DevError>;
  readonly #fail: (error: DevError) => void;
  readonly #terminal: Terminal;
  readonly #options: StackOptions;
  readonly #runDirectory: string;
  readonly #programs: ProcessGroup[] = [];
  readonly #logs: WriteStream[] = [];
  #guard: Guard | undefined;
  #watch: RolloutWatch | undefined;
  #state: "starting" | "ready" | "stopping" = "starting";

  constructor(deps: { readonly terminal: Terminal }, options: StackOptions) {
    this.#terminal = deps.terminal;
    this.#options = options;
    this.#runDirectory = absolute(options.root, options.settings.runDirectory);
    const { promise, resolve } = Promise.withResolvers<DevError>();
    this.failed = promise;
    this.#fail = resolve;
  }

  /** Starts everything and prints the guide. Throws a DevError when that is not possible. */
  async start(): Promise<void> {
    const options = this.#options;
    this.#checkPlace();
    const ports = await claimPorts(options.settings.ports);
    const certificates = await this.#prepareFiles();
    const plans = planPrograms({
      ports,
      certificates,
      // As it was written, so that messages name files in the same way; programs run in the root.
      sourceDirectory: options.settings.sourceDirectory,
      accountDirectory: join(this.#runDirectory, "account"),
      machine: options.machine,
    });
    this.#guard = new Guard(machineEnv(options.machine));

    // The account service starts in parallel: until the rate limit service answers, it limits logins by
    // itself. The pod cannot be ready before the control plane.
    await Promise.all([this.#startProgram(plans.account), this.#startFlow(plans, ports)]);
    if (this.#isStopping()) return;
    this.#state = "ready";
    const { sourceDirectory, runDirectory } = options.settings;
    this.#terminal.plain(describeStack({ ports, sourceDirectory, runDirectory }));
  }

  // Starts the configuration flow; ready when the pod has accepted the first version.
  async #startFlow(
    plans: { readonly controlPlane: ProgramPlan; readonly rateLimit: ProgramPlan },
    ports: StackPorts,
  ): Promise<void> {
    await this.#startProgram(plans.controlPlane);
    const url = `http://${STACK_HOST}:${ports.controlPlaneHttp}/weir.rollout.v1.RolloutService/GetRollout`;
    this.#watch = new RolloutWatch(url, (subject, text) => this.#print(subject, text));
    await this.#startProgram(plans.rateLimit);
    await this.#watch.firstAccepted(READY_TIMEOUT_MS);
  }

  /** Stops the programs in the reverse order of their start. */
  async stop(): Promise<void> {
    this.#state = "stopping";
    this.#watch?.stop();
    const deadlineMs = performance.now() + STOP_GRACE_MS;
    for (const program of this.#programs.toReversed()) {
      if (!program.isRunning()) continue;
      const exit = await program.stop("SIGTERM", Math.max(0, deadlineMs - performance.now()));
      const isClean = exit.code === 0;
      this.#terminal.event(program.name, isClean ? "stopped" : `stopped with ${describeExit(exit)}`);
    }
    this.#release();
  }

  /** Kills everything now; synchronous, so that it works while this process ends. */
  kill(): void {
    this.#state = "stopping";
    this.#watch?.stop();
    for (const program of this.#programs) program.kill();
    this.#release();
  }

  // A method, as the state changes while a start waits.
  #isStopping(): boolean {
    return this.#state === "stopping";
  }

  #release(): void {
    this.#guard?.release();
    this.#guard = undefined;
    for (const log of this.#logs) log.end();
    this.#logs.length = 0;
  }

  // Checks everything that can be wrong on this machine before anything is started.
  #checkPlace(): void {
    for (const launcher of ["weir-control-plane", "weir-ratelimit", "weir-account"]) {
      const path = this.#launcherPath(launcher);
      if (!existsSync(path))
        throw new DevError("STACK_NOT_BUILT", `Cannot start ${launcher}: ${path} does not exist; run make build`);
    }
    const sourceDirectory = absolute(this.#options.root, this.#options.settings.sourceDirectory);
    if (statSync(sourceDirectory, { throwIfNoEntry: false })?.isDirectory() !== true) {
      const message = `Cannot serve manifests: SOURCE_DIRECTORY is ${sourceDirectory}, which is not a folder`;
      throw new DevError("STACK_FOLDER_UNUSABLE", message);
    }
  }

  async #prepareFiles(): Promise<DevelopmentCertificates> {
    try {
      makeFolder(join(this.#runDirectory, "logs"));
      makeFolder(join(this.#runDirectory, "account"), { mode: 0o700 });
      writeFileSync(join(this.#runDirectory, "avatar.png"), SAMPLE_AVATAR);
      const folder = join(this.#runDirectory, "certificates");
      const hostNames = ["localhost", STACK_HOST];
      const certificates = await ensureCertificates(folder, { hostNames, now: new Date() });
      const made = certificates.renewed.length === 0 ? "still good" : `made for ${certificates.renewed.join(", ")}`;
      this.#terminal.progress("certificates", `${made} (${this.#options.settings.runDirectory}/certificates)`);
      return certificates;
    } catch (cause) {
      // Only the file system can fail here.
      throw new DevError("STACK_FOLDER_UNUSABLE", `Cannot use RUN_DIRECTORY: ${describeError(cause)}`, { cause });
    }
  }

  async #startProgram(plan: ProgramPlan): Promise<void> {
    if (this.#isStopping()) return;
    const log = createWriteStream(join(this.#runDirectory, "logs", `${plan.launcher}.log`), { mode: 0o600 });
    this.#logs.push(log);
    const program = await startProcess({
      name: plan.name,
      command: this.#launcherPath(plan.launcher),
      env: plan.env,
      cwd: this.#options.root,
      onLine: (line) => {
        log.write(`${line}\n`);
        const text = describeLogLine(line);
        if (text !== undefined) this.#print(plan.name, text);
      },
    });
    this.#programs.push(program);
    if (this.#isStopping()) program.kill(); // stop() was called while the process was being made.
    this.#guard?.watch(program.pid);
    void program.exited.then((exit) => {
      if (!this.#isStopping()) this.#fail(program.endedError(exit));
    });
    await program.waitUntilReady(plan.readyUrl, READY_TIMEOUT_MS);
    this.#terminal.progress(plan.name, "ready");
  }

  #print(subject: string, text: string): void {
    if (this.#isStopping()) return;
    if (this.#state === "ready") this.#terminal.event(subject, text);
    else this.#terminal.progress(subject, text);
  }

  #launcherPath(launcher: string): string {
    return join(this.#options.root, "node_modules", ".bin", launcher);
  }
}

function absolute(root: string, path: string): string {
  return isAbsolute(path) ? path : join(root, path);
}
