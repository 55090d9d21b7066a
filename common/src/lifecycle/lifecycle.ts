// Starts the parts of a process in order and stops them in reverse order, under one deadline.
import { once } from "node:events";

import { describeError, ServiceError } from "../errors/service-error.ts";
import type { Log } from "../log/log.ts";

/** A part of a process that starts and stops: a listener, a watcher, a store. */
export interface Part {
  /** The name in messages, such as "gRPC listener". */
  readonly name: string;
  /**
   * Resolves when the part works. A start that fails must leave nothing open: its stop is not
   * called.
   */
  start?(): void | Promise<void>;
  /**
   * Ends the part. May be called while start still runs, and must then make start end. Called at
   * most once.
   */
  stop?(): void | Promise<void>;
}

/** The time in which all parts together must stop, in milliseconds. */
export interface LifecycleOptions {
  readonly stopTimeoutMs: number;
}

type State =
  | { readonly kind: "new" }
  | { readonly kind: "starting" | "running" }
  | { readonly kind: "stopping"; readonly stopped: Promise<void> };

/** The parts of one process. */
export class Lifecycle {
  readonly #log: Log;
  readonly #stopTimeoutMs: number;
  readonly #parts: Part[] = [];
  /**
   * Parts to stop, in the order of start; the one that is starting right now is the last of them.
   */
  readonly #started: Part[] = [];
  #state: State = { kind: "new" };

  constructor({ log }: { readonly log: Log }, { stopTimeoutMs }: LifecycleOptions) {
    this.#log = log;
    this.#stopTimeoutMs = stopTimeoutMs;
  }

  /** Adds a part behind all others; only before start. */
  add(part: Part): void {
    if (this.#state.kind !== "new")
      throw new TypeError(`Cannot add ${part.name}: the lifecycle is ${this.#state.kind}`);
    this.#parts.push(part);
  }

  /**
   * Starts all parts, each after the one before it works. Fails with what a part failed with, or
   * with START_INTERRUPTED after stop().
   */
  async start(): Promise<void> {
    if (this.#state.kind === "stopping") throw interruption("the first part");
    if (this.#state.kind !== "new") throw new TypeError(`Cannot start: the lifecycle is ${this.#state.kind}`);
    this.#state = { kind: "starting" };
    for (const part of this.#parts) {
      await this.#startPart(part);
      if (this.#isStopping()) throw interruption(part.name);
    }
    this.#state = { kind: "running" };
  }

  /**
   * Stops all started parts; further calls wait for the first. Fails with STOP_INCOMPLETE after
   * every part was stopped.
   */
  stop(): Promise<void> {
    if (this.#state.kind === "stopping") return this.#state.stopped;
    const { promise: stopped, resolve, reject } = Promise.withResolvers<void>();
    this.#state = { kind: "stopping", stopped }; // First, because a part may call stop() itself.
    this.#stopStarted().then(resolve, reject);
    return stopped;
  }

  async #startPart(part: Part): Promise<void> {
    this.#log.debug("Starting", { part: part.name });
    this.#started.push(part);
    try {
      await part.start?.();
      this.#log.debug("Started", { part: part.name });
    } catch (error) {
      if (this.#isStopping()) throw interruption(part.name, error);
      this.#started.pop();
      await this.stop().catch((stopError: unknown) => {
        // The caller receives the error of the start; that of the stop is logged.
        this.#log.error("Cannot stop after a failed start", { error: stopError });
      });
      throw error;
    }
  }

  async #stopStarted(): Promise<void> {
    const deadlineMs = performance.now() + this.#stopTimeoutMs;
    const failures: string[] = [];
    for (let part = this.#started.pop(); part !== undefined; part = this.#started.pop()) {
      const failure = await this.#stopPart(part, deadlineMs - performance.now());
      if (failure !== undefined) failures.push(failure);
    }
    if (failures.length > 0) throw new ServiceError("STOP_INCOMPLETE", `Cannot stop cleanly: ${failures.join("; ")}`);
  }

  /**
   * Calls stop even when no time is left: a part that is called releases more than one that is
   * not.
   */
  async #stopPart(part: Part, remainingMs: number): Promise<string | undefined> {
    this.#log.debug("Stopping", { part: part.name });
    const timeout = Promise.withResolvers<string>();
    const timer = setTimeout(
      () => timeout.resolve(`${part.name} did not stop within ${this.#stopTimeoutMs} ms in all`),
      Math.max(0, remainingMs),
    );
    try {
      return await Promise.race([timeout.promise, Promise.resolve(part.stop?.()).then(() => undefined)]);
    } catch (error) {
      return `${part.name}: ${describeError(error)}`;
    } finally {
      clearTimeout(timer);
    }
  }

  #isStopping(): boolean {
    return this.#state.kind === "stopping";
  }
}

/** Runs a service: starts it, waits for the signal (which may come during the start), stops it. */
export async function runUntilAborted(lifecycle: Lifecycle, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const aborted = once(signal, "abort");
  const started = lifecycle.start();
  await Promise.race([started, aborted]);
  await aborted;
  // A start that the stop interrupts fails, or never ends; the process ends in any case.
  started.catch(() => undefined);
  await lifecycle.stop();
}

function interruption(partName: string, cause?: unknown): ServiceError<"START_INTERRUPTED"> {
  return new ServiceError("START_INTERRUPTED", `Cannot finish the start: interrupted at ${partName}`, { cause });
}
