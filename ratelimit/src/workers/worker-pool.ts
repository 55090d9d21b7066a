// The workers of the service: starts them, gives them rules and connections, sums their statistics,
// and replaces those that end.
import type { Socket } from "node:net";

import { Backoff } from "@weir/common/backoff/backoff";
import { ServiceError } from "@weir/common/errors/service-error";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { RateLimitConfigModel } from "@weir/limits/model/model";

import type { Health } from "../health/health.ts";
import type { RuleKeyCounts } from "../observe/rule-keys.ts";
import type { RuleName } from "../observe/rule-name.ts";
import type { StatisticsCounter, StatisticsGauge } from "../statistics/statistic.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import { indexOfFewest, surplusOf } from "./balance.ts";
import type { FromWorker } from "./messages.ts";
import { forgetWorker, mergeReport } from "./statistics/statistics-merge.ts";
import type { StoreHealth } from "./store-health.ts";
import { type WorkerListener, WorkerProcess } from "./worker-process.ts";

/** Waits before a worker that has ended is replaced, in milliseconds. */
const RESTART = { initialMs: 100, maxMs: 10_000, factor: 1, jitter: false, random: () => 0 };

/** A worker that has run this long has not failed at its start, in milliseconds. */
const STABLE_MS = 60_000;

/** Longest time for a worker to load a set of rules, in milliseconds; then it is replaced. */
const LOAD_MAX_MS = 30_000;

/** Longest wait for the statistics of workers, in milliseconds; then those of their last reports count. */
const COLLECT_MAX_MS = 1000;

/** How often and how many times surplus connections are looked for after a restart. */
const BALANCE_INTERVAL_MS = 1000;
const BALANCE_ROUNDS = 10;

/** Shortest time between two log lines about connections without a worker, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

export interface WorkerPoolDeps {
  readonly store: StatisticsStore;
  readonly health: Health;
  readonly storeHealth: StoreHealth;
  readonly log: Log;
  /** Starts a worker; tests replace it. */
  readonly startWorker?: (index: number, listener: WorkerListener) => WorkerProcess;
}

/** Settings of the pool. */
export interface WorkerPoolOptions {
  readonly workers: number;
  /** Most open connections of a worker. */
  readonly connectionsMax: number;
}

/** The rules that workers have to load. */
interface CurrentRules {
  readonly id: number;
  readonly configs: readonly RateLimitConfigModel[];
}

/** Something that waits until every worker has come so far. */
interface Waiter {
  readonly isDone: (worker: WorkerProcess) => boolean;
  readonly resolve: () => void;
}

/** The pool. */
export class WorkerPool implements Part {
  readonly name = "workers";
  readonly #deps: WorkerPoolDeps;
  readonly #options: WorkerPoolOptions;
  readonly #refusals: RateLimitedLog;
  readonly #restarts: StatisticsCounter;
  readonly #running: StatisticsGauge;
  /** By their numbers; an ended one stays until it is replaced. */
  readonly #workers: WorkerProcess[] = [];
  readonly #backoffs: Backoff[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #waiters = new Set<Waiter>();
  readonly #failed = Promise.withResolvers<never>();
  #rules: CurrentRules = { id: 0, configs: [] };
  /** Numbers of configurations in messages: an unchanged one is the same object. */
  readonly #numbers = new WeakMap<RateLimitConfigModel, number>();
  #lastNumber = 0;
  #refreshId = 0;
  #balanceRounds = 0;
  #state: "starting" | "running" | "draining" | "stopping" = "starting";

  constructor(deps: WorkerPoolDeps, options: WorkerPoolOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#refusals = new RateLimitedLog(deps.log, { intervalMs: LOG_INTERVAL_MS });
    this.#restarts = deps.store.counter("ratelimit.workers.restarts");
    this.#running = deps.store.gauge("ratelimit.workers.running");
    this.#failed.promise.catch(() => undefined); // `start` waits for it, if anything does.
    deps.health.onChange((isHealthy) => {
      for (const worker of this.#workers) worker.send({ kind: "health", isHealthy });
    });
    deps.store.onCollect(() => this.#refresh());
  }

  /** Resolves when every worker can decide. Fails with WORKER_FAILED when one ends before. */
  async start(): Promise<void> {
    for (let index = 0; index < this.#options.workers; index++) this.#startWorker(index);
    await Promise.race([this.#all((worker) => worker.isReady), this.#failed.promise]);
    this.#state = "running";
  }

  /** Resolves when the processes have ended. */
  async stop(): Promise<void> {
    this.#state = "stopping";
    for (const timer of this.#timers) clearTimeout(timer);
    for (const worker of this.#workers) worker.send({ kind: "stop" });
    await Promise.all(this.#workers.map((worker) => worker.ended));
  }

  /**
   * Makes a validated set of rules active; resolves when every worker that runs has loaded it. One loads after the
   * other, so that the others have their processors for decisions meanwhile; but not the first set, before which none decides.
   */
  async load(configs: readonly RateLimitConfigModel[]): Promise<void> {
    const isFirst = this.#rules.id === 0;
    const id = this.#rules.id + 1;
    this.#rules = { id, configs };
    const hasLoaded = (worker: WorkerProcess): boolean => worker.loadedId >= id;
    for (const worker of this.#workers) {
      this.#sendRules(worker);
      if (!isFirst) await this.#all((each) => each !== worker || hasLoaded(each));
    }
    await this.#all(hasLoaded);
  }

  /** Reads certificates again. */
  reload(): void {
    for (const worker of this.#workers) worker.send({ kind: "reload" });
  }

  /** Gives a connection to the worker with the fewest; closes it when there is none. */
  give(socket: Socket): void {
    const candidates = this.#workers.filter((worker) => this.#takesConnections(worker));
    const worker = candidates[indexOfFewest(candidates.map(({ connections }) => connections))];
    if (worker !== undefined) {
      worker.give(socket);
      return;
    }
    this.#refusals.warn("Refused connections, open ones are served", {
      to: "gRPC",
      reason: "no worker runs that may have more connections",
    });
    socket.destroy();
  }

  /** Workers take no new calls; resolves when the running ones are answered. */
  async drain(): Promise<void> {
    if (this.#state === "running") this.#state = "draining";
    for (const worker of this.#workers) worker.send({ kind: "drain" });
    await this.#all((worker) => worker.isDrained);
  }

  #takesConnections({ isReady, loadedId, openConnections }: WorkerProcess): boolean {
    return isReady && (loadedId > 0 || this.#rules.id === 0) && openConnections < this.#options.connectionsMax;
  }

  #startWorker(index: number): void {
    const { startWorker = (number, listener) => new WorkerProcess(number, listener) } = this.#deps;
    const worker = startWorker(index, {
      received: (from, message) => this.#receive(from, message),
      ended: (ended, reason) => this.#replace(ended, reason),
    });
    this.#workers[index] = worker;
    const { workers } = this.#options;
    worker.send({ kind: "start", index, workers, isHealthy: this.#deps.health.isHealthy() });
    // Before connections: a worker does not decide over other rules than the rest.
    if (this.#rules.id > 0) this.#sendRules(worker);
  }

  #sendRules(worker: WorkerProcess): void {
    const { id, configs } = this.#rules;
    const numbered = configs.map((config) => [this.#numberOf(config), config] as const);
    const order = numbered.map(([number]) => number);
    worker.send({ kind: "load", id, order, added: numbered.filter(([number]) => !worker.sent.has(number)) });
    worker.sent = new Set(order);
    this.#after(LOAD_MAX_MS, () => {
      if (worker.hasEnded || worker.loadedId >= id) return;
      this.#deps.log.error("A worker did not load the rules in time, ending it", { worker: worker.index });
      worker.kill();
    });
  }

  #numberOf(config: RateLimitConfigModel): number {
    return this.#numbers.getOrInsertComputed(config, () => (this.#lastNumber += 1));
  }

  #receive(worker: WorkerProcess, message: FromWorker): void {
    switch (message.kind) {
      case "ready":
        worker.isReady = true;
        this.#running.set(this.#workers.filter(({ isReady }) => isReady).length);
        if (this.#state === "running") this.#balance(BALANCE_ROUNDS);
        break;
      case "loaded":
        worker.loadedId = message.id;
        break;
      case "store":
        this.#deps.storeHealth.report(worker.index, message.isConnected);
        return;
      case "connections":
        worker.noteConnections(message);
        return;
      case "statistics":
        mergeReport(this.#deps.store, worker.index, message.report);
        return;
      case "refreshed":
        worker.refreshedId = message.id;
        worker.keys = message.keys ?? worker.keys;
        break;
      case "drained":
        worker.isDrained = true;
    }
    this.#checkWaiters();
  }

  #replace(worker: WorkerProcess, reason: string): void {
    const { index, pid } = worker;
    forgetWorker(this.#deps.store, index);
    this.#deps.storeHealth.report(index, undefined);
    this.#running.set(this.#workers.filter(({ isReady }) => isReady).length);
    if (this.#state === "starting") {
      this.#failed.reject(new ServiceError("WORKER_FAILED", `Cannot start a worker: it ended with ${reason}`));
    } else if (this.#state === "running") {
      const backoff = (this.#backoffs[index] ??= new Backoff(RESTART));
      const restartInMs = backoff.nextMs();
      this.#deps.log.error("A worker ended, starting another", { worker: index, pid, reason, restartInMs });
      this.#restarts.add(1);
      this.#after(restartInMs, () => {
        if (this.#state !== "running") return;
        this.#startWorker(index);
        const replacement = this.#workers[index];
        this.#after(STABLE_MS, () => {
          if (replacement?.hasEnded === false) backoff.reset();
        });
      });
    }
    this.#checkWaiters();
  }

  /** Closes the surplus of workers now, and again while clients connect anew. */
  #balance(rounds: number): void {
    const isRunning = this.#balanceRounds > 0;
    this.#balanceRounds = rounds;
    if (!isRunning) this.#balanceOnce();
  }

  #balanceOnce(): void {
    if (this.#state !== "running" || this.#balanceRounds === 0) return;
    this.#balanceRounds -= 1;
    const ready = this.#workers.filter(({ isReady }) => isReady);
    for (const [at, connections] of surplusOf(ready.map((worker) => worker.connections)).entries())
      if (connections > 0) ready[at]?.send({ kind: "shed", connections });
    if (this.#balanceRounds > 0) this.#after(BALANCE_INTERVAL_MS, () => this.#balanceOnce());
  }

  /** The keys of those of the rules that have any, from each worker that answers in time. Never rejects. */
  async readKeys(names: readonly RuleName[]): Promise<readonly RuleKeyCounts[]> {
    await this.#refresh(names);
    return this.#workers.flatMap(({ hasEnded, keys }) => (hasEnded ? [] : keys));
  }

  async #refresh(keysOf?: readonly RuleName[]): Promise<void> {
    const id = ++this.#refreshId;
    for (const worker of this.#workers) worker.send({ kind: "refresh", id, keysOf });
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#after(COLLECT_MAX_MS, resolve);
    await Promise.race([this.#all((worker) => !worker.isReady || worker.refreshedId >= id), promise]);
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  /** Resolves when this is true of every worker that runs. */
  async #all(isDone: (worker: WorkerProcess) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.add({ isDone, resolve });
    this.#checkWaiters();
    await promise;
  }

  #checkWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!this.#workers.every((worker) => worker.hasEnded || waiter.isDone(worker))) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  #after(ms: number, run: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }
}
