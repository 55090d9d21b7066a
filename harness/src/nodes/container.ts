// One container of a pod: its process, its probes, and its restarts.
import { setTimeout as delay } from "node:timers/promises";

import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { fieldsOf, type Mapping } from "@weir/kubernetes/mapping";
import { pauseProcess } from "../processes/pause-process.ts";

import { startProcess } from "../processes/start-process.ts";
import { Probe } from "./probe.ts";

/** Wait before a restart after the first, in milliseconds. A kubelet waits 10 s and longer. */
const RESTART_WAIT_MS = 1000;

/** What a container needs to start. */
export interface ContainerStart {
  readonly spec: Mapping;
  readonly podName: string;
  readonly podAddress: string;
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  readonly graceSeconds: number;
  /** The command line and the environment; asked before each start. */
  readonly prepare: () => {
    readonly command: readonly [string, readonly string[]];
    readonly env: Readonly<Record<string, string>>;
  };
  /** Called after each change of its state. */
  readonly onChange: () => void;
  readonly onLine: (line: string) => void;
}

/** A container. */
export class Container {
  readonly name: string;
  /** The process that runs or ran last. */
  process: ProcessGroup | undefined;
  isReady = false;
  isStarted = false;
  restarts = 0;
  /** Why it was restarted last. */
  lastEnd = "";
  /** Set when it has ended for good. */
  exitCode: number | undefined;
  readonly #start: ContainerStart;
  #isStopping = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(start: ContainerStart) {
    this.#start = start;
    this.name = String(start.spec["name"]);
  }

  /** Starts it; it restarts as its pod's policy says until it is stopped. */
  start(): void {
    this.#ended = this.#run();
  }

  /** Resolves when it has ended for good; never rejects. */
  async ended(): Promise<void> {
    await this.#ended;
  }

  /** Ends it as Kubernetes ends a container: preStop, SIGTERM, and SIGKILL after the grace time. */
  async stop(graceSeconds = this.#start.graceSeconds): Promise<void> {
    this.#isStopping = true;
    const startedMs = performance.now();
    const preStop = fieldsOf(fieldsOf(this.#start.spec["lifecycle"])["preStop"]);
    const sleepSeconds = Number(fieldsOf(preStop["sleep"])["seconds"] ?? 0);
    if (preStop["exec"] !== undefined || preStop["httpGet"] !== undefined)
      throw new Error("Cannot run a preStop hook other than sleep");
    if (this.process?.isRunning() === true) await delay(Math.min(sleepSeconds, graceSeconds) * 1000);
    const leftMs = Math.max(0, graceSeconds * 1000 - (performance.now() - startedMs));
    await this.process?.stop("SIGTERM", leftMs);
    await this.#ended;
  }

  /** Kills it as the kernel does; it is restarted. */
  kill(): void {
    this.process?.kill();
  }

  /** Stops all of its threads by SIGSTOP until {@link resume}. */
  async pause(): Promise<void> {
    this.process?.signal("SIGSTOP"); // The whole group; then it is awaited.
    await pauseProcess(this.process?.pid);
  }

  resume(): void {
    this.process?.signal("SIGCONT");
  }

  async #run(): Promise<void> {
    const { restartPolicy, onChange } = this.#start;
    for (let isFirst = true; !this.#mustEnd(); isFirst = false) {
      if (!isFirst) {
        this.restarts += 1;
        if (this.restarts > 1) await delay(RESTART_WAIT_MS);
      }
      const code = await this.#runOnce();
      [this.isReady, this.isStarted] = [false, false];
      const isLast = restartPolicy === "Never" || (restartPolicy === "OnFailure" && code === 0);
      if (isLast || this.#mustEnd()) this.exitCode = code;
      onChange();
      if (isLast) return;
    }
  }

  #mustEnd(): boolean {
    return this.#isStopping; // stop() may have been called during the last await.
  }

  async #runOnce(): Promise<number> {
    const { prepare, podName, onLine, onChange } = this.#start;
    const end = new AbortController();
    try {
      const {
        command: [command, args],
        env,
      } = prepare();
      this.process = await startProcess({ name: `${podName} ${this.name}`, command, args, env, onLine });
    } catch (error) {
      onLine(`Cannot start: ${String(error)}`);
      return 128;
    }
    this.#followProbes(this.process, end.signal);
    onChange();
    const { code, signal } = await this.process.exited;
    end.abort();
    this.lastEnd = signal ?? `exit code ${code}`;
    return code ?? 137;
  }

  #followProbes(running: ProcessGroup, signal: AbortSignal): void {
    const { spec, podAddress, graceSeconds, onChange } = this.#start;
    const startup = new AbortController();
    const follow = (name: string, onResult: (isGood: boolean) => void, until = signal): boolean => {
      const probe = spec[name];
      if (probe !== undefined) void new Probe(fieldsOf(probe), spec, podAddress).follow(onResult, until);
      return probe !== undefined;
    };
    const restart = (): void => void running.stop("SIGTERM", graceSeconds * 1000);
    const setReady = (isReady: boolean): void => {
      if (this.isReady === isReady) return;
      this.isReady = isReady;
      onChange();
    };
    const started = (): void => {
      startup.abort();
      this.isStarted = true;
      follow("livenessProbe", (isGood) => (isGood ? undefined : restart()));
      if (!follow("readinessProbe", setReady)) setReady(true);
      onChange();
    };
    const whileStarting = AbortSignal.any([signal, startup.signal]);
    if (!follow("startupProbe", (isGood) => (isGood ? started() : restart()), whileStarting)) started();
  }
}
