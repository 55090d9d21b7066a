// Runs the election of one replica: takes the Lease when it may, renews it while its work runs, and ends
// the work before another replica can begin.
import { ServiceError } from "@weir/common/errors/service-error";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log, LogFields } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { timerDelayMs } from "@weir/common/timers/timer-delay";

import type { Leadership } from "./leader-writer.ts";
import { LeaseLock, type LeaseLockDeps, type LeaseLockOptions } from "./lease-lock.ts";
import type { LeaseSettings } from "./lease.ts";

/** How much longer than the period an attempt may come, so that replicas do not ask together. */
const JITTER = 0.2;

/** Shortest time between two lines about requests that fail, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

export interface LeaderElectionDeps extends LeaseLockDeps {
  readonly log: Log;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /**
   * The work of the leader: begins when it is called, ends when the signal is aborted, and resolves
   * when all of it has ended. Is not called again before.
   */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  /** Called when the work has failed, so that some of it may still run: the process must end. */
  readonly failed: () => void;
}

/** One replica in the election, from start to stop. After it has lost the Lease it tries to get it again. */
export class LeaderElection implements Part, Leadership {
  readonly name = "leader election";
  readonly #deps: LeaderElectionDeps;
  readonly #options: LeaseLockOptions & LeaseSettings;
  readonly #lock: LeaseLock;
  readonly #problems: RateLimitedLog;
  readonly #stop = new AbortController();
  /** Of the last renewal: when its request was sent, by the clock that only goes forward. */
  #renewedMs = -Infinity;
  /** Set while this replica is the leader. */
  #term: AbortController | undefined;
  #deadline: NodeJS.Timeout | undefined;
  /** The work of the present or last term. */
  #work: Promise<void> = Promise.resolve();
  /** Why the work has failed. Set once. */
  #failure: Error | undefined;
  #loop: Promise<void> | undefined;
  #knownHolder = "";
  /** Ends the wait for the next attempt. */
  #wake: () => void = () => undefined;

  constructor(deps: LeaderElectionDeps, options: LeaseLockOptions & LeaseSettings) {
    this.#deps = deps;
    this.#options = options;
    this.#lock = new LeaseLock(deps, options);
    this.#problems = new RateLimitedLog(deps.log, { intervalMs: LOG_INTERVAL_MS, monotonicMs: deps.monotonicMs });
  }

  /** True while this replica is the leader. */
  get isLeader(): boolean {
    return this.#term !== undefined;
  }

  remainingMs(): number {
    if (this.#term === undefined) return 0;
    const { durationMs, renewDeadlineMs } = this.#options;
    const elapsedMs = this.#deps.monotonicMs() - this.#renewedMs;
    // The timer of the deadline may be late: the process was stopped, or busy.
    if (elapsedMs >= renewDeadlineMs) this.#lose("it was not renewed in time");
    return durationMs - elapsedMs;
  }

  /** Begins to try; does not wait until this replica is the leader. */
  start(): void {
    this.#loop = this.#run();
  }

  /** Ends the work, then releases the Lease. Fails with what the work has failed with. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#end("the process stops", (fields) => this.#deps.log.info("Ending the work of the leader", fields));
    this.#wake();
    await this.#loop;
    await this.#work;
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#lock.holder !== this.#options.identity) return;
    try {
      await this.#limited((signal) => this.#lock.release(signal));
    } catch (error) {
      this.#deps.log.warn("Cannot release the Lease, another replica has to wait until it expires", { error });
    }
  }

  /** Aborts requests that hang, so that one of them does not lose the Lease (as client-go does it). */
  async #limited<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), this.#options.renewDeadlineMs / 2);
    try {
      return await send(abort.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #run(): Promise<void> {
    const { retryPeriodMs } = this.#options;
    while (!this.#stop.signal.aborted) {
      // The work of a term that was lost may still write what it had begun.
      if (this.#term === undefined) await this.#work;
      const beganMs = this.#deps.monotonicMs();
      await this.#attempt();
      // From the beginning of the attempt, so that slow answers do not make renewals rare.
      const periodMs = retryPeriodMs * (1 + JITTER * this.#deps.random());
      await this.#wait(timerDelayMs(beganMs + periodMs, this.#deps.monotonicMs()));
    }
  }

  /** Until the time is over, or the replica stops. */
  async #wait(waitMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    this.#wake = resolve;
    if (this.#stop.signal.aborted) resolve();
    await promise;
    clearTimeout(timer);
  }

  async #attempt(): Promise<void> {
    const sentMs = this.#deps.monotonicMs();
    const wasLeader = this.isLeader;
    try {
      const isMine = await this.#limited((signal) => this.#lock.acquire(AbortSignal.any([this.#stop.signal, signal])));
      this.#problems.recovered("The Lease can be read and written again", {});
      if (isMine) this.#acquired(sentMs, wasLeader);
      else this.#lose("another replica has it");
      this.#noteHolder();
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#problems.warn("Cannot read or write the Lease", { error });
    }
  }

  #acquired(sentMs: number, wasLeader: boolean): void {
    const leftMs = sentMs + this.#options.renewDeadlineMs - this.#deps.monotonicMs();
    // A term that was lost meanwhile has work that must end first, and an answer may come too late.
    if (this.#stop.signal.aborted || leftMs <= 0 || wasLeader !== this.isLeader) return;
    this.#renewedMs = sentMs;
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#lose("it was not renewed in time"), leftMs);
    if (this.#term !== undefined) return;
    const { signal } = (this.#term = new AbortController());
    this.#deps.log.info("Became the leader", { lease: this.#options.name, identity: this.#options.identity });
    this.#work = this.#deps.lead(signal).catch((error: unknown) => this.#fail(error, signal));
  }

  /** Some of the work may still run, so that this process must not begin it again. */
  #fail(cause: unknown, { aborted, reason }: AbortSignal): void {
    const action = aborted ? `end the work of the leader (${String(reason)})` : "begin the work of the leader";
    this.#failure = new ServiceError("STOP_INCOMPLETE", `Cannot ${action}`, { cause });
    this.#lose("its work has failed");
    this.#stop.abort();
    this.#wake();
    this.#deps.failed();
  }

  #lose(reason: string): void {
    this.#end(`the Lease is lost: ${reason}`, (fields) =>
      this.#deps.log.warn("Not the leader any more", { ...fields, reason }),
    );
  }

  /** Ends the term, if there is one. */
  #end(reason: string, note: (fields: LogFields) => void): void {
    clearTimeout(this.#deadline);
    const term = this.#term;
    if (term === undefined) return;
    this.#term = undefined;
    note({ lease: this.#options.name, identity: this.#options.identity });
    term.abort(reason);
  }

  #noteHolder(): void {
    const { holder } = this.#lock;
    if (holder === this.#knownHolder) return;
    this.#knownHolder = holder;
    if (holder !== "" && holder !== this.#options.identity)
      this.#deps.log.info("Another replica is the leader", { lease: this.#options.name, holder });
  }
}
