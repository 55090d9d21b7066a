// One node: gathers the reads and increments of each event-loop turn, writes them to a connection
// that works, and keeps connections to it. It never waits for a node that is known to be away.
import { setTimeout as setTimeoutAsync } from "node:timers/promises";

import { type Backoff, createBackoff } from "@weir/common/backoff/backoff";
import type { Log } from "@weir/common/log/log";
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { CountedCheck } from "../counter.ts";
import type { StoreError } from "../store-error.ts";
import type { AltstoreStatistics } from "./altstore-statistics.ts";
import type { Call } from "./call.ts";
import type { Command } from "./command.ts";
import { Connection, type ConnectionListener } from "./connection.ts";
import { GetCommand, type GetContext, KeyRead } from "./get-command.ts";
import { IncrementCommand, type IncrementContext } from "./increment-command.ts";
import type { NodeAddress } from "./node-address.ts";
import type { NodeOptions } from "./options.ts";
import { connectionError, replyError } from "./store-errors.ts";
import { expiryNumber } from "./stored-value.ts";

/** Waits between attempts to reach a node, in milliseconds. */
const REDIAL_INITIAL_MS = 125;
const REDIAL_MAX_MS = 4_000;

/** Most keys of one get. A server keeps the whole line while it answers. */
const GET_MAX_KEYS = 100;

/** Keys under way on each connection from which on another one is opened. */
const BUSY_KEYS = 500;

/**
 * Most keys that wait or are under way at a node, reads and increments each; a key has up to 250
 * bytes.
 */
const NODE_MAX_KEYS = 100_000;

/** What a node works with. */
export interface NodeDeps {
  readonly log: Log;
  readonly faults: RateLimitedLog;
  readonly statistics: AltstoreStatistics;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Hears that the node became reachable, or is no longer. */
  readonly changed: () => void;
}

/** Settings of a node, and how long keys live beyond their window. */
export interface MemcachedNodeOptions extends NodeOptions {
  readonly expiryJitterMaxSeconds: number;
}

/** A node; nothing is connected before `open`. */
export class MemcachedNode implements ConnectionListener {
  readonly address: NodeAddress;
  readonly #deps: NodeDeps;
  readonly #options: MemcachedNodeOptions;
  readonly #backoff: Backoff;
  readonly #connections = new Set<Connection>();
  #dialling: Connection | undefined;
  #redialTimer: NodeJS.Timeout | undefined;
  /**
   * Why nothing can be sent; undefined while a connection works, and while one is on its way for
   * the first time after that.
   */
  #failure: StoreError | undefined;
  /** What the next flush writes. */
  #reads = new Map<string, KeyRead>();
  #increments = new Map<string, IncrementCommand>();
  /** Increments in their second or third step. */
  #steps: IncrementCommand[] = [];
  #pendingIncrements = 0;
  readonly #drained: (() => void)[] = [];
  #isFlushScheduled = false;
  #isClosed = false;
  readonly #flush = (): void => this.#endTurn();
  readonly #context: GetContext & IncrementContext;

  constructor(address: NodeAddress, deps: NodeDeps, options: MemcachedNodeOptions) {
    this.address = address;
    this.#deps = deps;
    this.#options = options;
    const { random, clock, statistics } = deps;
    this.#backoff = createBackoff({
      initialMs: REDIAL_INITIAL_MS,
      maxMs: REDIAL_MAX_MS,
      factor: 1,
      jitter: true,
      random,
    });
    this.#context = {
      statistics,
      replyError: (line: string) => replyError(address.text, line),
      notANumber: (key: string, data: string | undefined) => this.#tellValue(key, data),
      expiryNumber: (windowSeconds: number) =>
        expiryNumber(windowSeconds + Math.floor(random() * options.expiryJitterMaxSeconds), clock()),
      again: (command: IncrementCommand) => this.#sendAgain(command),
      finished: (error: StoreError | undefined) => this.#finishIncrement(error),
    };
  }

  /** Whether a connection works. */
  get isReady(): boolean {
    return this.#connections.size > 0;
  }

  /** Why the node was not reached at the last attempt. */
  get failure(): StoreError | undefined {
    return this.#failure;
  }

  /** Begins to connect. */
  open(): void {
    this.#dial();
  }

  /**
   * Reads the check for its call; at once unread when the node is away. Checks of a call come one
   * after the other.
   */
  read(check: CountedCheck, call: Call): void {
    const present = this.#reads.get(check.key);
    if (present !== undefined) {
      present.add(check, call);
      return;
    }
    const error = this.#failure ?? this.#overload(this.#reads.size);
    if (error !== undefined) {
      call.unread(error);
      return;
    }
    this.#reads.set(check.key, new KeyRead(check, call));
    this.#scheduleFlush();
  }

  /** Adds to the check's counter in the background. */
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

  /**
   * Resolves when no increment is on its way. None takes longer than a few times the time limit.
   */
  drain(): Promise<void> {
    if (this.#pendingIncrements === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Ends everything once what is on its way had its time: for a node that is no longer used. */
  async retire(cause: StoreError): Promise<void> {
    await setTimeoutAsync(this.#options.timeoutMs, undefined, { ref: false }); // Reads take no longer; they have no count of their own.
    await this.drain();
    this.close(cause);
  }

  /** Ends everything; reads and increments on their way fail with `cause`. */
  close(cause: StoreError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#redialTimer);
    this.#failWaiting(cause);
    this.#dialling?.close(cause);
    for (const connection of [...this.#connections]) connection.close(cause);
  }

  ready(connection: Connection): void {
    this.#dialling = undefined;
    this.#backoff.reset();
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
    if (this.#dialling === connection) this.#dialling = undefined;
    if (this.#isClosed) {
      this.#failure = error;
      return;
    }
    if (this.isReady) return; // Another one works; a further one is opened when there is need.
    if (wasReady) {
      this.#deps.log.warn("Lost a node of the alternative store", { address: this.address.text, error });
      this.#deps.changed();
    } else {
      if (this.#failure === undefined) {
        this.#deps.log.warn("Cannot reach a node of the alternative store", { address: this.address.text, error });
      }
      this.#failWaiting(error);
    }
    if (this.#dialling === undefined) this.#redialTimer = setTimeout(() => this.#dial(), this.#backoff.nextMs());
  }

  #dial(): void {
    if (this.#isClosed || this.#dialling !== undefined) return;
    const { tls, timeoutMs } = this.#options;
    const { clock } = this.#deps;
    this.#dialling = new Connection({ address: this.address, tls, listener: this, clock }, { timeoutMs });
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flush);
  }

  /**
   * Writes the turn: increments first, so that reads on the same connection see them. Without a
   * connection everything waits for `ready`.
   */
  #endTurn(): void {
    this.#isFlushScheduled = false;
    const connection = this.#pick();
    if (connection === undefined) return;
    const commands: Command[] = [...this.#increments.values(), ...this.#steps];
    const reads = [...this.#reads.values()];
    for (let at = 0; at < reads.length; at += GET_MAX_KEYS) {
      commands.push(new GetCommand(this.#context, reads.slice(at, at + GET_MAX_KEYS)));
    }
    this.#increments = new Map();
    this.#steps = [];
    this.#reads = new Map();
    if (commands.length > 0) connection.write(commands);
  }

  /**
   * The connection with the least to do. When even that one is busy, another is opened for later
   * turns.
   */
  #pick(): Connection | undefined {
    let least: Connection | undefined;
    for (const connection of this.#connections)
      if (least === undefined || connection.load < least.load) least = connection;
    if (least !== undefined && least.load >= BUSY_KEYS && this.#connections.size < this.#options.maxConnections)
      this.#dial();
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
    const lost = [...this.#increments.values(), ...this.#steps];
    const reads = [...this.#reads.values()];
    this.#increments = new Map();
    this.#steps = [];
    this.#reads = new Map();
    for (const command of lost) command.lost(error);
    for (const read of reads) read.unread(error);
  }

  #finishIncrement(error: StoreError | undefined): void {
    this.#pendingIncrements -= 1;
    if (error !== undefined) this.#deps.faults.error("Cannot increment a counter of the alternative store", { error });
    if (this.#pendingIncrements > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #tellValue(key: string, data: string | undefined): void {
    this.#deps.faults.error("A counter of the alternative store is not a number and counts as 0", {
      address: this.address.text,
      key,
      value: data ?? "longer than any number",
    });
  }
}
