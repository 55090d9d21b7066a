// One server with its pool of connections: gathers the increments of each event-loop batch, writes them to
// a connection that is ready, and sees to it that every call is answered in time, whatever the server
// does. Alone it is a deployment; deployments of several servers have one per address, and hear of
// what the server refused and of its connections through `ServerEvents`.
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { StoreError } from "../../store-error.ts";
import { reasonOf } from "../../connection-errors.ts";
import type { KvstoreAddress } from "../address.ts";
import type { Reply } from "../connection/command-sink.ts";
import type { Deployment } from "../deployment.ts";
import { FlushSchedule } from "../batch/flush-schedule.ts";
import { ExpiryRetryQueue } from "../batch/expiry-retry-queue.ts";
import type { PooledConnection, PooledConnectionListener } from "../connection/pooled-connection.ts";
import { ConnectionPool } from "../connection/connection-pool.ts";
import { type InFlightBatch, PendingBatches } from "../batch/pending-batches.ts";
import type { ServerDeps, ServerOptions } from "./server-options.ts";
import { StartWait } from "../../start-wait.ts";
import { connectionError, replyError } from "../store-errors.ts";
import type { KeyExpiry, RefusedChecks, CommandBatch, BatchContext } from "../batch/command-batch.ts";

/** Most checks that wait for a connection at a time; each holds a call of some hundred bytes. */
const WAITING_MAX_CHECKS = 100_000;

/**
 * Shortest time between two warnings of connections that cannot connect for the same reason, in
 * milliseconds: an absence may last, and a pool has many connections.
 */
const WARNING_INTERVAL_MS = 10_000;

/**
 * What a server tells the deployment that it is a part of. Everything is called from the event
 * loop, never from inside a call to the server, except `serverLost`, which also comes from inside
 * `moveTo`.
 */
export interface ServerEvents {
  /**
   * Whether a reply says that its command was not carried out and may be sent again, here later or
   * elsewhere: MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING, READONLY, as the deployment can make use
   * of. For such replies `refused` or `expiryMissing` comes; others fail their calls.
   */
  isRefusal(error: Error): boolean;
  /**
   * Checks without an answer, which belong to the deployment now. It brings each of them, by
   * `CommandBatch.adopt`, into a batch that has the same `createdMs`, for its calls have waited since then,
   * and gives that batch to `resend` of a server; or it fails them with `failChecks`.
   */
  refused(server: KvstoreServer, checks: readonly RefusedChecks[], createdMs: number): void;
  /**
   * A key may have no expiry: the server had lost the key, refused EXPIRE alone, or was lost before
   * it answered. `sendExpiry` sends it again.
   */
  expiryMissing(server: KvstoreServer, expiry: KeyExpiry): void;
  /** A connection works now. */
  serverReady(server: KvstoreServer): void;
  /** A connection that worked is gone; `server.isReady` says whether others are left. */
  serverLost(server: KvstoreServer, cause: unknown): void;
  /** A connection could not be made; the next attempt comes by itself. */
  serverFailed(server: KvstoreServer, cause: unknown): void;
}

/** A server and everything on its way to it. */
export class KvstoreServer implements Deployment, PooledConnectionListener {
  readonly #deps: ServerDeps;
  readonly #events: ServerEvents | undefined;
  #address: KvstoreAddress;
  readonly #timeoutMs: number;
  readonly #limit: number;
  readonly #pool: ConnectionPool;
  readonly #context: BatchContext;
  readonly #pending: PendingBatches;
  readonly #schedule: FlushSchedule;
  readonly #expiries = new ExpiryRetryQueue();
  /** When the last connection was lost, and why; undefined while one is ready. */
  #down: { readonly sinceMs: number; readonly cause: unknown } | undefined;
  /** What a connection last warned of, and when, in milliseconds since the epoch. */
  #warned = { reason: "", atMs: 0 };
  #wasReady = false;
  #isClosed = false;
  readonly #startWait = new StartWait();

  constructor(deps: ServerDeps, options: ServerOptions, events?: ServerEvents) {
    const { address, server, counter, wantsPrimary = false } = options;
    this.#deps = deps;
    this.#events = events;
    this.#address = address;
    this.#timeoutMs = counter.commandTimeoutMs;
    this.#limit = server.pipeline.limit === 0 ? Infinity : server.pipeline.limit;
    this.#down = { sinceMs: -Infinity, cause: new Error("not connected yet") };
    const { random, statistics, expiries, clock } = deps;
    const target = (): KvstoreAddress => this.#address;
    this.#pool = new ConnectionPool(
      { target, listener: this, random, statistics },
      { server, startup: counter.startup, wantsPrimary },
    );
    const jitterSeconds = counter.expiryJitterMaxSeconds;
    this.#context = {
      expiries,
      expirySeconds: (windowSeconds) => windowSeconds + Math.floor(random() * jitterSeconds),
      replyError: (cause) => replyError(this.#address.text, cause),
      ...(events !== undefined && { isRefusal: (error: Error) => events.isRefusal(error) }),
    };
    this.#pending = new PendingBatches(
      {
        clock,
        context: this.#context,
        text: () => this.#address.text,
        absence: () => connectionError(this.#address.text, this.#down?.cause),
        reset: (connection, error) => this.#pool.reset(connection, error),
      },
      { timeoutMs: this.#timeoutMs },
    );
    this.#schedule = new FlushSchedule({ flush: () => this.#endTurn() }, server.pipeline);
  }

  /** Where it is. */
  get address(): KvstoreAddress {
    return this.#address;
  }

  /** Whether a connection works. */
  get isReady(): boolean {
    return this.#pool.isReady;
  }

  /**
   * Begins to connect, without waiting for it; calls wait for the connection from now on, as in a
   * short absence.
   */
  open(): void {
    if (this.#isClosed) return;
    if (this.#down?.sinceMs === -Infinity) this.#down = { sinceMs: this.#deps.clock(), cause: this.#down.cause };
    this.#pool.openAll();
  }

  /**
   * Gives all connections up and makes new ones, to another address. What was written and not
   * answered fails; what waits goes to the new ones.
   */
  moveTo(address: KvstoreAddress, cause: unknown): void {
    if (this.#isClosed) return;
    this.#pool.disconnect(cause);
    this.#address = address;
    this.#pool.openAll();
  }

  /**
   * Takes a batch of checks that were refused here or elsewhere. Their time runs since its
   * `createdMs`.
   */
  resend(batch: CommandBatch): void {
    if (this.#isClosed) {
      batch.fail(this.#stoppingError(), this.#context);
      return;
    }
    this.#pending.wait(batch);
    this.#schedule.note();
  }

  /**
   * Sends the expiry of a key ahead of the next batch; with `isAsking` to a node that is taking over
   * its slot.
   */
  sendExpiry(expiry: KeyExpiry, isAsking = false): void {
    if (this.#isClosed) return;
    this.#expiries.add(expiry, isAsking);
    this.#schedule.note();
  }

  /**
   * Sends one command outside of all batches, such as CLUSTER SLOTS; fails with STORE_UNAVAILABLE, or
   * STORE_TIMEOUT after the time a call may take.
   */
  async query(command: string, ...args: string[]): Promise<unknown> {
    const { text } = this.#address;
    const connection = this.#pool.pick();
    if (connection === undefined) throw connectionError(text, this.#down?.cause);
    return await connection.query({ command, args }, { timeoutMs: this.#timeoutMs, text });
  }

  /**
   * Waits for the first connection; with `maxElapsedMs` above 0 not longer than that. The other
   * connections open in the background.
   */
  async start(maxElapsedMs: number): Promise<void> {
    if (this.#isClosed) throw this.#stoppingError();
    try {
      await this.#startWait.wait(() => this.#pool.openFirst(), {
        maxElapsedMs,
        text: this.#address.text,
        reason: () => connectionError(this.#address.text, this.#down?.cause),
      });
    } catch (error) {
      this.close();
      throw error;
    }
    this.#pool.openAll();
  }

  /** Fails what is waiting and closes all connections. */
  close(): void {
    this.#isClosed = true;
    this.#schedule.cancel();
    const error = this.#stoppingError();
    this.#down = { sinceMs: -Infinity, cause: error };
    this.#startWait.fail(error);
    this.#pending.failAll(error);
    this.#pool.close();
  }

  /**
   * Why a call cannot even wait: the server has been away for longer than a call may take, or too
   * many wait already. A short absence is bridged: calls wait for the connection as long as they
   * would for an answer.
   */
  refusal(nowMs: number): StoreError | undefined {
    if (this.#down === undefined) return undefined;
    if (nowMs - this.#down.sinceMs >= this.#timeoutMs) return connectionError(this.#address.text, this.#down.cause);
    if (this.#pending.waitingChecks < WAITING_MAX_CHECKS) return undefined;
    return connectionError(this.#address.text, new Error(`${WAITING_MAX_CHECKS} increments wait for a connection`));
  }

  /** Takes one check of a call; its call has been told how many checks are pending. */
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
    if (this.#down !== undefined) {
      this.#deps.log.info("Connected to the counter store", { address: this.#address.text });
      // A server that has taken the place of another one may have heard of an increment and not of
      // the expiry that followed.
      if (this.#wasReady) this.#context.expiries.clear();
    }
    this.#wasReady = true;
    this.#down = undefined;
    this.#pool.noteReady();
    this.#startWait.succeed();
    this.#events?.serverReady(this);
    this.#send();
  }

  connectionLost(connection: PooledConnection, cause: unknown): void {
    const error = connectionError(this.#address.text, cause);
    this.#pending.failConnection(connection, error);
    if (!this.#pool.isReady) {
      this.#down = { sinceMs: this.#deps.clock(), cause };
      this.#deps.log.warn("Lost the connection to the counter store", {
        address: this.#address.text,
        error: reasonOf(cause),
      });
    }
    this.#pool.noteLost();
    this.#events?.serverLost(this, cause);
  }

  connectionFailed(_link: PooledConnection, cause: unknown): void {
    this.#events?.serverFailed(this, cause);
    if (this.#down === undefined) return; // The others work; this one tries on.
    this.#down = { sinceMs: this.#down.sinceMs, cause };
    const nowMs = this.#deps.clock();
    const reason = reasonOf(cause);
    const { atMs } = this.#warned;
    if (reason === this.#warned.reason && nowMs >= atMs && nowMs < atMs + WARNING_INTERVAL_MS) return; // Said a moment ago.
    this.#warned = { reason, atMs: nowMs };
    this.#deps.log.warn("Cannot reach the counter store, trying again", { address: this.#address.text, error: reason });
  }

  #added(batch: CommandBatch): void {
    this.#schedule.note();
    this.#pending.noteAdded(batch);
    if (batch.commands >= this.#limit) this.#schedule.now();
  }

  #endTurn(): void {
    this.#pending.closeOpenBatch();
    this.#send();
  }

  /** Writes what waits, if a connection is ready. */
  #send(): void {
    const connection = this.#pool.pick();
    if (connection === undefined) return;
    for (const batch of this.#pending.takeWaiting()) this.#write(connection, batch);
    if (!this.#expiries.isEmpty) this.#write(connection, undefined);
  }

  #write(connection: PooledConnection, batch: CommandBatch | undefined): void {
    let ahead = 0;
    const inFlight = batch && this.#pending.markSent(batch, connection);
    connection.write(
      (sink) => {
        ahead = this.#expiries.write(sink);
        batch?.write(sink, this.#context);
      },
      (replies) => {
        if (inFlight !== undefined) this.#complete(inFlight, ahead === 0 ? replies : replies.slice(ahead));
      },
    );
  }

  #complete(inFlight: InFlightBatch, replies: readonly Reply[]): void {
    if (!this.#pending.complete(inFlight)) {
      // Given up before. An increment may have been carried out without its expiry; and perhaps
      // nobody ever increments that key again.
      this.#sendLost(inFlight.batch.sentExpiries(this.#context));
      return;
    }
    const { expiries, refused } = inFlight.batch.settle(replies, this.#context);
    if (expiries.length > 0) this.#sendLost(expiries);
    if (refused.length > 0 && !inFlight.batch.isFailed) this.#events?.refused(this, refused, inFlight.batch.createdMs);
  }

  #sendLost(expiries: readonly KeyExpiry[]): void {
    if (this.#isClosed) return;
    for (const expiry of expiries) {
      if (this.#events === undefined) this.sendExpiry(expiry);
      else this.#events.expiryMissing(this, expiry);
    }
  }

  #stoppingError(): StoreError {
    return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${this.#address.text}: the backend is stopping`, {
      transient: true,
    });
  }
}
