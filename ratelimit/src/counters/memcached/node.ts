// One node: collects the reads and increments of each event-loop turn, writes them to a connection,
// and keeps connections open. Calls never wait for a node that is known to be away.
import { setTimeout as setTimeoutAsync } from "node:timers/promises";

import { RetryLoop } from "@weir/common/backoff/retry-loop";
import type { Log } from "@weir/common/log/log";
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { CountedCheck } from "../counter.ts";
import type { StoreError } from "../store-error.ts";
import type { MemcachedStatistics } from "./memcached-statistics.ts";
import type { Call } from "./call.ts";
import { type CommandContext, GetCommand, IncrementCommand, KeyRead } from "./commands.ts";
import { type Command, Connection, type ConnectionListener } from "./connection.ts";
import type { NodeAddress } from "./node-address.ts";
import type { MemcachedCounterOptions } from "./options.ts";
import { connectionError, replyError } from "./store-errors.ts";
import { expiryNumber } from "./stored-value.ts";

/** Waits between attempts to reach a node, in milliseconds. */
const RECONNECT_INITIAL_MS = 125;
const RECONNECT_MAX_MS = 4_000;

/** Most keys of one get. A server keeps the whole line while it answers. */
const GET_MAX_KEYS = 100;

/** Unanswered keys on each connection from which on another connection is opened. */
const BUSY_KEYS = 500;

/** Most keys that wait or are unanswered, reads and increments each; a key has up to 250 bytes. */
const NODE_MAX_KEYS = 100_000;

export interface NodeDeps {
  readonly log: Log;
  /** Log of faults that can occur at every call. */
  readonly faults: RateLimitedLog;
  readonly statistics: MemcachedStatistics;
  /** Milliseconds since the epoch, for times at which counters expire. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Called when the node has become reachable or unreachable. */
  readonly changed: () => void;
}

/** Settings of the backend that concern its nodes; the same for every node. */
export type MemcachedNodeOptions = Pick<
  MemcachedCounterOptions,
  "tls" | "maxConnections" | "timeoutMs" | "expiryJitterMaxSeconds"
>;

/** A node; nothing is connected before `open`. */
export class MemcachedNode implements ConnectionListener {
  readonly address: NodeAddress;
  readonly #deps: NodeDeps;
  readonly #options: MemcachedNodeOptions;
  readonly #connecting: RetryLoop;
  readonly #connections = new Set<Connection>();
  /** The connection that is being made. */
  #next: Connection | undefined;
  /**
   * Why nothing can be sent; undefined while a connection works, and during the first attempt to
   * replace a lost one.
   */
  #failure: StoreError | undefined;
  /** The reads and increments that the next flush writes, by key. */
  readonly #reads = new Map<string, KeyRead>();
  readonly #increments = new Map<string, IncrementCommand>();
  /** Increments in their second or third step. */
  #steps: IncrementCommand[] = [];
  #pendingIncrements = 0;
  readonly #drained: (() => void)[] = [];
  #isFlushScheduled = false;
  #isClosed = false;
  readonly #flush = (): void => this.#writeAll();
  readonly #context: CommandContext;

  constructor(address: NodeAddress, deps: NodeDeps, options: MemcachedNodeOptions) {
    this.address = address;
    this.#deps = deps;
    this.#options = options;
    const { random, clock, statistics } = deps;
    this.#connecting = new RetryLoop(() => this.#connect(), {
      initialMs: RECONNECT_INITIAL_MS,
      maxMs: RECONNECT_MAX_MS,
      factor: 1,
      jitter: true,
      random,
    });
    this.#context = {
      statistics,
      replyError: (line) => replyError(address.text, line),
      notANumber: (key, data) => this.#reportValue(key, data),
      expiryNumber: (windowSeconds) =>
        expiryNumber(windowSeconds + Math.floor(random() * options.expiryJitterMaxSeconds), clock()),
      again: (command) => this.#sendAgain(command),
      finished: (error) => this.#finishIncrement(error),
    };
  }

  /** True while a connection works. */
  get isReady(): boolean {
    return this.#connections.size > 0;
  }

  /** Why the node was not reached at the last attempt. */
  get failure(): StoreError | undefined {
    return this.#failure;
  }

  /** Begins to connect. */
  open(): void {
    this.#connecting.start();
  }

  /**
   * Reads the count of a check for its call; reports it as unread immediately when the node is away.
   * The checks of a call come one after the other.
   */
  read(check: CountedCheck, call: Call): void {
    let read = this.#reads.get(check.key);
    if (read === undefined) {
      const error = this.#failure ?? this.#overload(this.#reads.size);
      if (error !== undefined) {
        call.unread(error);
        return;
      }
      read = new KeyRead(check.key);
      this.#reads.set(check.key, read);
      this.#scheduleFlush();
    }
    read.add(check, call);
  }

  /** Adds to the counter of a check in the background, or takes from it: a turn sends the sum for each key. */
  increment(check: CountedCheck): void {
    const present = this.#increments.get(check.key);
    if (present !== undefined) {
      present.add(check.addend);
      return;
    }
    this.#pendingIncrements += 1;
    const command = new IncrementCommand(this.#context, check.key, check.windowSeconds, check.addend);
    const error = this.#failure ?? this.#overload(this.#pendingIncrements - 1);
    if (error !== undefined) {
      command.lost(error);
      return;
    }
    this.#increments.set(check.key, command);
    this.#scheduleFlush();
  }

  /** Resolves when no increment is pending. None takes longer than a few times the time limit. */
  drain(): Promise<void> {
    if (this.#pendingIncrements === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Closes a node that is no longer used, after its pending reads and increments. */
  async retire(cause: StoreError): Promise<void> {
    await setTimeoutAsync(this.#options.timeoutMs, undefined, { ref: false }); // Reads take no longer; they have no count of their own.
    await this.drain();
    this.close(cause);
  }

  /** Closes all connections; pending reads and increments fail with `cause`. */
  close(cause: StoreError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connecting.stop();
    this.#failWaiting(cause);
    this.#next?.close(cause);
    for (const connection of [...this.#connections]) connection.close(cause);
  }

  ready(connection: Connection): void {
    this.#next = undefined;
    this.#connecting.succeeded();
    const wasReady = this.isReady;
    this.#connections.add(connection);
    this.#failure = undefined;
    if (wasReady) return;
    this.#deps.log.info("Connected to a node of the alternative store", { address: this.address.text });
    this.#deps.changed();
    this.#scheduleFlush();
  }

  closed(connection: Connection, error: StoreError): void {
    const wasReady = this.#connections.delete(connection);
    if (this.#next === connection) this.#next = undefined;
    if (this.#isClosed) {
      this.#failure = error;
      return;
    }
    if (this.isReady) return; // Another one works; a further one is opened when needed.
    if (wasReady) {
      this.#deps.log.warn("Lost a node of the alternative store", { address: this.address.text, error });
      this.#deps.changed();
    } else {
      if (this.#failure === undefined)
        this.#deps.log.warn("Cannot reach a node of the alternative store", { address: this.address.text, error });
      this.#failWaiting(error);
    }
    if (this.#next === undefined) this.#connecting.retry();
  }

  #connect(): void {
    if (this.#isClosed || this.#next !== undefined) return;
    const { tls, timeoutMs } = this.#options;
    const { monotonicMs } = this.#deps;
    this.#next = new Connection({ address: this.address, tls, listener: this, monotonicMs }, { timeoutMs });
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flush);
  }

  /**
   * Writes what was collected: increments first, so that reads on the same connection see them.
   * Without a connection everything waits for `ready`.
   */
  #writeAll(): void {
    this.#isFlushScheduled = false;
    const connection = this.#pick();
    if (connection === undefined) return;
    const { increments, reads } = this.#takeWaiting();
    const commands: Command[] = increments;
    for (let at = 0; at < reads.length; at += GET_MAX_KEYS)
      commands.push(new GetCommand(this.#context, reads.slice(at, at + GET_MAX_KEYS)));
    if (commands.length > 0) connection.write(commands);
  }

  /** The connection with the smallest load. If it is busy, another is opened for later turns. */
  #pick(): Connection | undefined {
    let least: Connection | undefined;
    for (const connection of this.#connections)
      if (least === undefined || connection.load < least.load) least = connection;
    if (least !== undefined && least.load >= BUSY_KEYS && this.#connections.size < this.#options.maxConnections)
      this.#connect();
    return least;
  }

  #overload(waiting: number): StoreError | undefined {
    let load = waiting;
    for (const connection of this.#connections) load += connection.load;
    if (load < NODE_MAX_KEYS) return undefined;
    return connectionError(this.address.text, new Error(`${NODE_MAX_KEYS} keys wait for it`));
  }

  #sendAgain(command: IncrementCommand): void {
    if (this.#failure !== undefined) {
      command.lost(this.#failure);
      return;
    }
    this.#steps.push(command);
    this.#scheduleFlush();
  }

  #failWaiting(error: StoreError): void {
    this.#failure = error;
    const { increments, reads } = this.#takeWaiting();
    for (const command of increments) command.lost(error);
    for (const read of reads) read.unread(error);
  }

  /** Empties what waits for the next flush. */
  #takeWaiting(): { readonly increments: IncrementCommand[]; readonly reads: readonly KeyRead[] } {
    const waiting = { increments: [...this.#increments.values(), ...this.#steps], reads: [...this.#reads.values()] };
    this.#increments.clear();
    this.#steps = [];
    this.#reads.clear();
    return waiting;
  }

  #finishIncrement(error: StoreError | undefined): void {
    this.#pendingIncrements -= 1;
    if (error !== undefined) this.#deps.faults.error("Cannot increment a counter of the alternative store", { error });
    if (this.#pendingIncrements > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #reportValue(key: string, data: string | undefined): void {
    this.#deps.faults.error("A counter of the alternative store is not a number and counts as 0", {
      address: this.address.text,
      key,
      value: data ?? "longer than any number",
    });
  }
}
