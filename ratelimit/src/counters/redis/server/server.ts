// One server with its connection pool: batches the increments of each event-loop turn, writes them
// to a ready connection, and answers every call in time. It is a deployment by itself; deployments
// of several servers have one per address and receive its events.
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { type StoreError, stoppingError } from "../../store-error.ts";
import type { RedisAddress } from "../address.ts";
import type { Deployment } from "../deployment.ts";
import { FlushSchedule } from "../batch/flush-schedule.ts";
import { ExpiryRetryQueue } from "../expiry/expiry-retry-queue.ts";
import type { PooledConnection, PooledConnectionListener } from "../connection/pooled-connection.ts";
import { ConnectionPool } from "../connection/connection-pool.ts";
import { PendingBatches } from "../batch/pending-batches.ts";
import type { ServerEvents } from "./server-events.ts";
import type { ServerDeps, ServerOptions } from "./server-options.ts";
import { StartWait } from "../../start-wait.ts";
import { Availability } from "./availability.ts";
import { connectionError, overloadError, replyError } from "../store-errors.ts";
import { CellCommands } from "../batch/cell-commands.ts";
import { type BatchContext, CommandBatch, type RefusedChecks } from "../batch/command-batch.ts";
import { type KeyExpiry, lifetimeSeconds } from "../expiry/expiry-cache.ts";

/** Most checks without an answer; each keeps a call of some hundred bytes in memory. */
const PENDING_MAX_CHECKS = 100_000;

/**
 * Most checks that are written in one event-loop turn, and most expiries. After an outage 100,000 may
 * wait: writing them in one piece would stop the process for a quarter of a second.
 */
const TURN_MAX_CHECKS = 2000;

/** A server and its pending calls. */
export class RedisServer implements Deployment, PooledConnectionListener {
  readonly #deps: ServerDeps;
  readonly #events: ServerEvents<RedisServer> | undefined;
  #address: RedisAddress;
  readonly #timeoutMs: number;
  readonly #limit: number;
  readonly #pool: ConnectionPool;
  readonly #context: BatchContext;
  readonly #cells: CellCommands;
  readonly #pending: PendingBatches;
  readonly #availability: Availability;
  readonly #schedule: FlushSchedule;
  readonly #expiries = new ExpiryRetryQueue();
  /** True if the rest of what waits is written in the next turn. */
  #hasRest = false;
  #wasReady = false;
  #isClosed = false;
  /** The error of all calls that find too many waiting. */
  #overload: StoreError | undefined;
  readonly #startWait = new StartWait();

  constructor(deps: ServerDeps, options: ServerOptions, events?: ServerEvents<RedisServer>) {
    const { address, server, counter, wantsPrimary = false } = options;
    this.#deps = deps;
    this.#events = events;
    this.#address = address;
    this.#timeoutMs = counter.commandTimeoutMs;
    this.#limit = server.pipeline.limit === 0 ? Infinity : server.pipeline.limit;
    const { log, random, statistics, expiries, monotonicMs, turn, commands, merger, usesOwnClock } = deps;
    const target = (): RedisAddress => this.#address;
    this.#pool = new ConnectionPool(
      { target, listener: this, random, statistics, commands },
      { server, startup: counter.startup, wantsPrimary },
    );
    const jitterSeconds = counter.expiryJitterMaxSeconds;
    this.#cells = new CellCommands({ log, monotonicMs, usesOwnClock, text: () => this.#address.text });
    this.#context = {
      merger,
      expiries,
      cells: this.#cells,
      expirySeconds: (windowSeconds) => lifetimeSeconds(windowSeconds) + Math.floor(random() * jitterSeconds),
      replyError: (cause) => replyError(this.#address.text, cause),
      isRefusal: (error) => this.#cells.isUnknownScript(error) || events?.isRefusal(error) === true,
      completed: (batch) => this.#complete(batch),
      // Given up before, or with the connection. An increment may have been executed without its
      // expiry, and the key may never be incremented again.
      lost: (batch) => this.#sendLost(batch.unansweredExpiries()),
    };
    this.#pending = new PendingBatches(
      {
        monotonicMs,
        text: () => this.#address.text,
        absence: () => this.#availability.error,
        reset: (connection, error) => this.#pool.reset(connection, error),
        silent: ({ firstExpiry }) => {
          if (firstExpiry !== undefined) this.#availability.silent(firstExpiry);
        },
      },
      { timeoutMs: this.#timeoutMs, countsCommands: this.#limit < Infinity },
    );
    this.#availability = new Availability(
      { ...deps, target, tls: server.tls, answered: () => this.#pool.reconnect() },
      { timeoutMs: this.#timeoutMs },
    );
    this.#schedule = new FlushSchedule({ turn, flush: () => this.#endTurn() }, server.pipeline);
  }

  /** The address of the server. */
  get address(): RedisAddress {
    return this.#address;
  }

  /** True while a connection works. */
  get isReady(): boolean {
    return this.#pool.isReady;
  }

  /**
   * Begins to connect, without waiting; calls wait for the connection as during a short absence.
   */
  open(): void {
    if (this.#isClosed) return;
    this.#availability.opening();
    this.#pool.openAll();
  }

  /**
   * Replaces all connections by ones to another address. Commands that were written and not answered
   * fail; commands that wait go to the new ones.
   */
  moveTo(address: RedisAddress, cause: unknown): void {
    if (this.#isClosed) return;
    this.#availability.moved();
    this.#pool.disconnect(cause);
    this.#address = address;
    this.#overload = undefined;
    this.#pool.openAll();
  }

  /**
   * Sends a batch of checks that were refused here or by another server. Their time runs since its
   * `createdMs`.
   */
  resend(batch: CommandBatch): void {
    if (this.#isClosed) {
      batch.fail(stoppingError(this.#address.text));
      return;
    }
    this.#pending.wait(batch);
    this.#schedule.note();
  }

  /**
   * Sends the expiry of a key before the next batch; with `isAsking` to a node that is importing
   * its slot.
   */
  sendExpiry(expiry: KeyExpiry, isAsking = false): void {
    if (this.#isClosed) return;
    this.#expiries.add(expiry, isAsking);
    this.#schedule.note();
  }

  /**
   * Waits for the first connection, at most `maxElapsedMs` if that is above 0. The other
   * connections open in the background.
   */
  async start(maxElapsedMs: number): Promise<void> {
    if (this.#isClosed) throw stoppingError(this.#address.text);
    try {
      await this.#startWait.wait(() => this.#pool.openFirst(), {
        maxElapsedMs,
        store: `the counter store ${this.#address.text}`,
        reason: () => this.#availability.error,
      });
    } catch (error) {
      this.close();
      throw error;
    }
    this.#pool.openAll();
  }

  /** Fails waiting calls and closes all connections. */
  close(): void {
    this.#isClosed = true;
    this.#schedule.cancel();
    const error = stoppingError(this.#address.text);
    this.#availability.closed(error);
    this.#startWait.fail(error);
    this.#pending.failAll(error);
    this.#pool.close();
  }

  /** Why a call cannot even wait: see Availability; or too many calls wait. */
  refusal(nowMs: number): StoreError | undefined {
    const refusal = this.#availability.refusal(nowMs);
    if (refusal !== undefined || this.#pending.checks < PENDING_MAX_CHECKS) return refusal;
    return (this.#overload ??= overloadError(this.#address.text, PENDING_MAX_CHECKS));
  }

  /** Adds one check of a call; the call knows the number of its pending checks. */
  add(check: CountedCheck, call: CountBatch, nowMs: number): void {
    const batch = this.#pending.openBatch(nowMs);
    batch.add(check, call);
    this.#added(batch);
  }

  /** The same for a check that only reads. */
  read(check: CountedCheck, call: CountBatch, nowMs: number): void {
    const batch = this.#pending.openBatch(nowMs);
    batch.read(check, call);
    this.#added(batch);
  }

  connectionReady(): void {
    // A replica that was promoted may have received an increment and not the expiry that followed.
    if (this.#availability.ready() && this.#wasReady) {
      this.#context.expiries.clear();
      this.#cells.forget();
    }
    this.#wasReady = true;
    this.#pool.noteReady();
    this.#startWait.succeed();
    this.#events?.serverReady(this);
    this.#send();
  }

  connectionLost(connection: PooledConnection, cause: unknown): void {
    this.#pending.failConnection(connection, connectionError(this.#address.text, cause));
    if (!this.#pool.isReady) this.#availability.lost(cause);
    this.#pool.noteLost();
    this.#events?.serverLost(this, cause);
  }

  connectionFailed(_connection: PooledConnection, cause: unknown): void {
    this.#events?.serverFailed(this, cause);
    this.#availability.failed(cause);
  }

  replacementFailed(_connection: PooledConnection, cause: unknown): void {
    this.#availability.replacementFailed(cause);
  }

  #added(batch: CommandBatch): void {
    this.#schedule.note();
    this.#pending.noteAdded(batch);
    if (batch.commands >= this.#limit) this.#schedule.now();
  }

  #endTurn(): void {
    if (this.#pool.isReady) this.#send();
    else this.#pending.closeAgedBatch();
  }

  /** Writes what waits in one piece, if a connection is ready; a long queue in several turns. */
  #send(): void {
    const connection = this.#pool.pick();
    if (connection === undefined) return;
    const { commands } = this.#deps;
    const ignored = this.#expiries.write(commands, TURN_MAX_CHECKS);
    if (ignored !== undefined) connection.expect(ignored);
    this.#pending.closeOpenBatch();
    for (const batch of this.#pending.takeWaiting(TURN_MAX_CHECKS)) {
      batch.write(commands, this.#context);
      this.#pending.markSent(batch, connection);
      connection.expect(batch);
    }
    if (!commands.isEmpty) connection.flush();
    if (this.#pending.hasWaiting || !this.#expiries.isEmpty) this.#sendRest();
  }

  #sendRest(): void {
    if (this.#hasRest) return;
    this.#hasRest = true;
    setImmediate(() => {
      this.#hasRest = false;
      this.#send();
    });
  }

  #complete(batch: CommandBatch): void {
    const { expiries, refused } = batch;
    this.#availability.replied();
    this.#pending.complete(batch);
    if (expiries !== undefined) this.#sendLost(expiries);
    if (refused !== undefined && !batch.isFailed) this.#refused(refused, batch);
  }

  /** Sends again what the server lacked the script for, and hands over what others have to count. */
  #refused(refused: readonly RefusedChecks[], { createdMs, isAsking }: CommandBatch): void {
    const { unknown = [], others = [] } = Object.groupBy(refused, ({ error }) =>
      this.#cells.isUnknownScript(error) ? "unknown" : "others",
    );
    if (unknown.length > 0) {
      const batch = new CommandBatch(createdMs, this.#timeoutMs, { isAsking });
      for (const { checks } of unknown) batch.adopt(checks);
      this.resend(batch);
    }
    if (others.length > 0) this.#events?.refused(this, others, createdMs);
  }

  #sendLost(expiries: readonly KeyExpiry[]): void {
    if (this.#isClosed) return;
    for (const expiry of expiries) {
      if (this.#events === undefined) this.sendExpiry(expiry);
      else this.#events.expiryMissing(this, expiry);
    }
  }
}
