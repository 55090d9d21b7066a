// The altstore backend on memcached, as in the field: counts are read and predicted, callers are
// answered, and only then are the counters incremented. So calls at the same instant may pass a
// limit together. Pods of both kinds can share the nodes.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { StatisticsCounter, StatisticsStore } from "../../statistics/statistics-store.ts";
import type { CountBatch, Counter } from "../counter.ts";
import { StoreError } from "../store-error.ts";
import { type AltstoreStatistics, createAltstoreStatistics } from "./altstore-statistics.ts";
import { Call, type CallOwner } from "./call.ts";
import { MemcachedNode, type NodeDeps } from "./node.ts";
import { NodeList } from "./node-list.ts";
import type { AltstoreCounterOptions } from "./options.ts";
import { lookUpNodes, type ResolveSrv } from "./srv-record.ts";
import { connectionError, keyError, stoppingError } from "./store-errors.ts";
import { findKeyProblem } from "./stored-value.ts";

/**
 * Longest wait at the stop for increments on their way, in time limits: up to three steps, and a
 * connection before.
 */
const DRAIN_TIMEOUTS = 5;

/** Shortest time between two log lines about the same fault, in milliseconds. */
const FAULT_INTERVAL_MS = 10_000;

/** What the backend works with. */
export interface AltstoreCounterDeps {
  readonly log: Log;
  readonly statistics: StatisticsStore;
  /**
   * Counts calls whose counts could not all be read and that were answered nevertheless, with
   * `unread: "zero"`.
   */
  readonly allowedFailures: StatisticsCounter;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Looks up SRV records. */
  readonly resolveSrv: ResolveSrv;
  /** Hears the number of reachable nodes, at each change. */
  readonly reachable: (nodes: number) => void;
}

/** Creates the backend; nothing is connected before `start`. */
export function createAltstoreCounter(deps: AltstoreCounterDeps, options: AltstoreCounterOptions): AltstoreCounter {
  return new AltstoreCounter(deps, options);
}

/** The backend. */
export class AltstoreCounter implements Counter, CallOwner {
  readonly name = "altstore counters";
  readonly errorType = "memcache_error";
  readonly #deps: AltstoreCounterDeps;
  readonly #options: AltstoreCounterOptions;
  readonly #statistics: AltstoreStatistics;
  readonly #faults: RateLimitedLog;
  readonly #nodes: NodeList;
  /** Calls that wait for an answer. */
  readonly #calls = new Set<Call>();
  #timer: NodeJS.Timeout | undefined;
  /** The moment the timer is set for, in milliseconds since the epoch. */
  #timerMs = Infinity;
  #refreshTimer: NodeJS.Timeout | undefined;
  #isRefreshing = false;
  #isStopping = false;
  /** Ends the wait of `start`. */
  #started: { resolve(): void; reject(error: StoreError): void } | undefined;
  readonly #look = (): void => this.#answerLate();

  constructor(deps: AltstoreCounterDeps, options: AltstoreCounterOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#statistics = createAltstoreStatistics(deps.statistics);
    this.#faults = new RateLimitedLog(deps.log, { intervalMs: FAULT_INTERVAL_MS, clock: deps.clock });
    const nodeDeps: NodeDeps = {
      ...deps,
      statistics: this.#statistics,
      faults: this.#faults,
      changed: () => this.#noteReachable(),
    };
    this.#nodes = new NodeList((address) => {
      const node = new MemcachedNode(address, nodeDeps, options);
      node.open();
      return node;
    });
  }

  /** Where keys live, in order. */
  get addresses(): readonly string[] {
    return this.#nodes.addresses;
  }

  /**
   * Finds the nodes and waits until one of them answers: one that is away must not keep a pod from
   * starting.
   */
  async start(): Promise<void> {
    const { nodes, startMaxElapsedMs } = this.#options;
    const addresses = nodes.kind === "list" ? nodes.addresses : await lookUpNodes(nodes.record, this.#deps.resolveSrv);
    if (this.#isStopping) throw stoppingError();
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#started = { resolve, reject };
        if (startMaxElapsedMs > 0)
          timer = setTimeout(() => reject(this.#startError(startMaxElapsedMs)), startMaxElapsedMs);
        this.#nodes.replace(addresses, stoppingError());
      });
    } catch (error) {
      this.#nodes.close(stoppingError());
      throw error;
    } finally {
      clearTimeout(timer);
      this.#started = undefined;
    }
    if (nodes.kind === "srv" && nodes.refreshMs > 0)
      this.#refreshTimer = setInterval(() => void this.refresh(), nodes.refreshMs);
  }

  /** Fails what is waiting, awaits the increments on their way, and closes the connections. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#refreshTimer);
    clearTimeout(this.#timer);
    const error = stoppingError();
    this.#started?.reject(error);
    for (const call of [...this.#calls]) {
      this.#forget(call);
      call.batch.failed(error);
    }
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>(
      (resolve) => (timer = setTimeout(resolve, DRAIN_TIMEOUTS * this.#options.timeoutMs)),
    );
    await Promise.race([this.#nodes.drain(), limit]);
    clearTimeout(timer);
    this.#nodes.close(error);
  }

  /** Resolves when no increment is on its way. */
  drain(): Promise<void> {
    return this.#nodes.drain();
  }

  /** Looks the nodes up again. The old ones stay when that fails. */
  async refresh(): Promise<void> {
    const { nodes } = this.#options;
    if (nodes.kind === "list" || this.#isRefreshing || this.#isStopping) return;
    this.#isRefreshing = true;
    try {
      const before = this.addresses.join();
      const addresses = await lookUpNodes(nodes.record, this.#deps.resolveSrv);
      // The stop may have come while the lookup was under way.
      if (this.#hasStopped()) return;
      this.#nodes.replace(addresses, connectionError("", new Error("it is no longer listed")));
      if (this.addresses.join() === before) return;
      this.#deps.log.info("The nodes of the alternative store have changed", { nodes: this.addresses });
      this.#noteReachable();
    } catch (error) {
      this.#deps.log.warn("failed to refresh memcache hosts", { error });
    } finally {
      this.#isRefreshing = false;
    }
  }

  count(batch: CountBatch): void {
    const { checks } = batch;
    for (const { key } of checks) {
      const problem = findKeyProblem(key);
      if (problem !== undefined) {
        batch.failed(keyError(key, problem));
        return;
      }
    }
    if (this.#isStopping) {
      batch.failed(stoppingError());
      return;
    }
    this.#statistics.keysRequested.add(checks.length);
    const dueMs = this.#deps.clock() + this.#options.timeoutMs;
    const { deadlineMs } = batch;
    const call = new Call(this, batch, deadlineMs !== undefined && deadlineMs < dueMs ? deadlineMs : dueMs);
    this.#calls.add(call);
    for (const check of checks) this.#nodes.of(check.key)?.read(check, call);
    if (!call.isAnswered && call.dueMs < this.#timerMs) this.#setTimer(call.dueMs);
  }

  finish(call: Call): void {
    this.#forget(call);
    const { batch, error, found } = call;
    if (error === undefined) {
      this.#statistics.multiget.success.add(1);
      this.#statistics.keysFound.add(found);
    } else {
      this.#statistics.multiget.error.add(1);
      this.#faults.error("Cannot read counters of the alternative store", { error });
      if (this.#options.unread === "failure") {
        batch.failed(error);
        return;
      }
      this.#deps.allowedFailures.add(1);
    }
    batch.counted();
    for (const check of batch.checks) this.#nodes.of(check.key)?.increment(check);
  }

  #forget(call: Call): void {
    call.isAnswered = true;
    this.#calls.delete(call); // The timer stays: most likely it is right for the next call, and else it finds nothing to do.
  }

  #setTimer(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    // What lies in the sockets is read first: this process may have been the one that paused.
    this.#timer = setTimeout(() => setImmediate(this.#look), Math.max(0, atMs - this.#deps.clock()));
  }

  /** Answers the calls whose time is up with what they have, and sets the timer anew. */
  #answerLate(): void {
    const nowMs = this.#deps.clock();
    let next = Infinity;
    for (const call of [...this.#calls]) {
      if (call.dueMs > nowMs) {
        next = Math.min(next, call.dueMs);
        continue;
      }
      call.error ??= this.#lateError(call);
      this.finish(call);
    }
    this.#timerMs = Infinity;
    if (next !== Infinity) this.#setTimer(next);
  }

  #lateError({ batch, dueMs }: Call): StoreError {
    if (dueMs === batch.deadlineMs)
      return new StoreError(
        "DEADLINE_EXCEEDED",
        "Cannot count on the alternative store: the caller's deadline passed",
        {
          transient: true,
        },
      );
    const message = `Cannot count on the alternative store: no answer within ${this.#options.timeoutMs} ms`;
    return new StoreError("STORE_TIMEOUT", message, { transient: true });
  }

  #noteReachable(): void {
    const ready = this.#nodes.countReady();
    if (ready > 0) this.#started?.resolve();
    this.#deps.reachable(ready);
  }

  /** A method, because the field changes where the compiler does not expect it. */
  #hasStopped(): boolean {
    return this.#isStopping;
  }

  #startError(maxElapsedMs: number): StoreError {
    const causes = [...this.#nodes.all].map(
      ({ failure, address }) => failure?.message ?? `${address.text} has not answered`,
    );
    const message = `Timed out waiting for the alternative store after ${maxElapsedMs} ms: ${causes.join("; ")}`;
    return new StoreError("STORE_UNAVAILABLE", message, { transient: true });
  }
}
