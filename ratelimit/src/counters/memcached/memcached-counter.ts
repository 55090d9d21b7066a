// The memcached backend on memcached, which envoyproxy/ratelimit can share: it reads the counts, answers
// the call, and then increments the counters, so that simultaneous calls may exceed a limit together.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { timerDelayMs } from "@weir/common/timers/timer-delay";
import type { StatisticsCounter } from "../../statistics/statistic.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { CountBatch, Counter } from "../counter.ts";
import { StartWait } from "../start-wait.ts";
import { silenceError, StoreError, stoppingError } from "../store-error.ts";
import { MemcachedStatistics } from "./memcached-statistics.ts";
import { Call, type CallOwner } from "./call.ts";
import { MemcachedNode, type NodeDeps } from "./node.ts";
import { NodeList } from "./node-list.ts";
import type { MemcachedCounterOptions } from "./options.ts";
import { lookUpNodes, type ResolveSrv } from "./srv-record.ts";
import { connectionError, keyError, STORE } from "./store-errors.ts";
import { findKeyProblem } from "./stored-value.ts";

/**
 * Longest wait at the stop for pending increments, in time limits: a connection and up to three
 * steps.
 */
const DRAIN_TIMEOUTS = 5;

/** Shortest time between two log lines about the same fault, in milliseconds. */
const FAULT_INTERVAL_MS = 10_000;

export interface MemcachedCounterDeps {
  readonly log: Log;
  readonly statistics: StatisticsStore;
  /** Counts calls that were answered although not all counts could be read: `unread: "zero"`. */
  readonly allowedFailures: StatisticsCounter;
  /** Milliseconds since the epoch, for times at which counters expire. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Looks up SRV records. */
  readonly resolveSrv: ResolveSrv;
  /** Receives the number of reachable nodes at each change. */
  readonly reachable: (nodes: number) => void;
}

/** The backend; nothing is connected before `start`. */
export class MemcachedCounter implements Counter, CallOwner {
  readonly name = "memcached counters";
  readonly errorType = "memcache_error";
  readonly predicts = true;
  readonly #deps: MemcachedCounterDeps;
  readonly #options: MemcachedCounterOptions;
  readonly #statistics: MemcachedStatistics;
  readonly #faults: RateLimitedLog;
  readonly #nodes: NodeList;
  readonly #startWait = new StartWait();
  /** Calls that wait for an answer. */
  readonly #calls = new Set<Call>();
  #timer: NodeJS.Timeout | undefined;
  /** The moment the timer is set for. */
  #timerMs = Infinity;
  #refreshTimer: NodeJS.Timeout | undefined;
  #isRefreshing = false;
  #isStopping = false;
  readonly #answerDue = (): void => this.#answerLate();

  constructor(deps: MemcachedCounterDeps, options: MemcachedCounterOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#statistics = new MemcachedStatistics(deps.statistics);
    this.#faults = new RateLimitedLog(deps.log, { intervalMs: FAULT_INTERVAL_MS, monotonicMs: deps.monotonicMs });
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

  /** The nodes, in the order of the list. */
  get addresses(): readonly string[] {
    return this.#nodes.addresses;
  }

  /** Finds the nodes and waits until one of them answers; the others may be away at the start. */
  async start(): Promise<void> {
    const { nodes, startMaxElapsedMs } = this.#options;
    const addresses = nodes.kind === "list" ? nodes.addresses : await lookUpNodes(nodes.record, this.#deps.resolveSrv);
    const stopping = stoppingError(STORE);
    if (this.#isStopping) throw stopping;
    try {
      const reason = (): StoreError => this.#startFailure();
      const wait = { maxElapsedMs: startMaxElapsedMs, store: STORE, reason };
      await this.#startWait.wait(() => this.#nodes.replace(addresses, stopping), wait);
    } catch (error) {
      this.#nodes.close(stopping);
      throw error;
    }
    if (nodes.kind === "srv" && nodes.refreshMs > 0)
      this.#refreshTimer = setInterval(() => void this.refresh(), nodes.refreshMs);
  }

  /** Fails waiting calls, awaits pending increments, and closes the connections. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#refreshTimer);
    clearTimeout(this.#timer);
    const error = stoppingError(STORE);
    this.#startWait.fail(error);
    for (const call of [...this.#calls]) {
      this.#forget(call);
      call.batch.failed(error);
    }
    const { promise: limit, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, DRAIN_TIMEOUTS * this.#options.timeoutMs);
    await Promise.race([this.#nodes.drain(), limit]);
    clearTimeout(timer);
    this.#nodes.close(error);
  }

  /** Resolves when no increment is pending. */
  drain(): Promise<void> {
    return this.#nodes.drain();
  }

  /** Looks up the nodes again. Keeps the old ones if that fails. */
  async refresh(): Promise<void> {
    const { nodes } = this.#options;
    if (nodes.kind === "list" || this.#isRefreshing || this.#isStopping) return;
    this.#isRefreshing = true;
    try {
      const before = this.addresses.join();
      const addresses = await lookUpNodes(nodes.record, this.#deps.resolveSrv);
      if (this.#hasStopped()) return; // During the lookup.
      this.#nodes.replace(addresses, connectionError("", new Error("it is no longer listed")));
      if (this.addresses.join() === before) return;
      this.#deps.log.info("Nodes of the alternative store have changed", { nodes: this.addresses });
      this.#noteReachable();
    } catch (error) {
      this.#deps.log.warn("Cannot look up the nodes of the alternative store again", { error });
    } finally {
      this.#isRefreshing = false;
    }
  }

  cellsProblem(): Promise<string> {
    const needed = "sliding_window, token_bucket, rate_limits and count_rejected_hits: false";
    const present = "memcached counts one fixed window for each rule, with its rejected hits";
    return Promise.resolve(`${present}: ${needed} need BACKEND_TYPE=kvstore (Redis) or memory`);
  }

  count(batch: CountBatch): void {
    this.#begin(batch, false);
  }

  read(batch: CountBatch): void {
    this.#begin(batch, true);
  }

  #begin(batch: CountBatch, isRead: boolean): void {
    const { checks } = batch;
    for (const { key } of checks) {
      const problem = findKeyProblem(key);
      if (problem !== undefined) {
        batch.failed(keyError(key, problem));
        return;
      }
    }
    if (this.#isStopping) {
      batch.failed(stoppingError(STORE));
      return;
    }
    this.#statistics.keysRequested.add(checks.length);
    const dueMs = this.#deps.monotonicMs() + this.#options.timeoutMs;
    const { deadlineMs } = batch;
    const ownMs = deadlineMs !== undefined && deadlineMs < dueMs ? deadlineMs : dueMs;
    const call = new Call(this, batch, { dueMs: ownMs, isRead });
    this.#calls.add(call);
    for (const check of checks) this.#nodes.of(check.key)?.read(check, call);
    if (!call.isAnswered && call.dueMs < this.#timerMs) this.#setTimer(call.dueMs);
  }

  finish(call: Call): void {
    this.#forget(call);
    const { batch, error, found, isRead } = call;
    if (error === undefined) {
      this.#statistics.multiget.success.add(1);
      this.#statistics.keysFound.add(found);
    } else {
      this.#statistics.multiget.error.add(1);
      this.#faults.error("Cannot read counters of the alternative store", { error });
      if (isRead || this.#options.unread === "failure") {
        batch.failed(error);
        return;
      }
      this.#deps.allowedFailures.add(1);
    }
    batch.counted();
    if (isRead) return;
    for (const check of batch.checks) this.#nodes.of(check.key)?.increment(check);
  }

  #forget(call: Call): void {
    call.isAnswered = true;
    this.#calls.delete(call); // The timer stays: it is likely to suit the next call.
  }

  #setTimer(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    // Data in the sockets is read first: this process may have been the one that paused.
    this.#timer = setTimeout(() => setImmediate(this.#answerDue), timerDelayMs(atMs, this.#deps.monotonicMs()));
  }

  /** Answers the calls whose time is up with what was read so far, and sets the timer again. */
  #answerLate(): void {
    const nowMs = this.#deps.monotonicMs();
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
    if (dueMs !== batch.deadlineMs) return silenceError(STORE, this.#options.timeoutMs);
    const message = `Cannot count on ${STORE}: the caller's deadline passed`;
    return new StoreError("DEADLINE_EXCEEDED", message, { transient: true });
  }

  #noteReachable(): void {
    const ready = this.#nodes.countReady();
    if (ready > 0) this.#startWait.succeed();
    this.#deps.reachable(ready);
  }

  /** A method, because the compiler assumes that the field does not change during an await. */
  #hasStopped(): boolean {
    return this.#isStopping;
  }

  /** Why no node is reachable. */
  #startFailure(): StoreError {
    const causes = Array.from(
      this.#nodes.all,
      ({ failure, address }) => failure?.message ?? `${address.text} has not answered`,
    );
    return new StoreError("STORE_UNAVAILABLE", causes.join("; "), { transient: true });
  }
}
