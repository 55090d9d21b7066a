// The batches of one server until they are answered: the open one, those that wait for a connection,
// and those in flight. Answers every call in time. It writes nothing itself.
import { timerDelayMs } from "@weir/common/timers/timer-delay";

import { silenceError, type StoreError } from "../../store-error.ts";
import type { PooledConnection } from "../connection/pooled-connection.ts";
import { CommandBatch } from "./command-batch.ts";

/**
 * The part of the time of a call for which a server may at least be silent, however long the call
 * had waited before it was written.
 */
const SILENCE_SHARE = 0.5;

/**
 * The time over which calls are gathered in one batch while no connection is ready, in milliseconds:
 * the calls of a batch are given up together.
 */
const WAITING_BATCH_MS = 10;

/** A batch that was written and has no replies yet. */
interface InFlight {
  readonly batch: CommandBatch;
  readonly connection: PooledConnection;
  /** In milliseconds of `monotonicMs`. */
  readonly writtenMs: number;
}

export interface PendingBatchesDeps {
  readonly monotonicMs: () => number;
  /** The server for messages. */
  readonly text: () => string;
  /** Why no connection is ready. */
  readonly absence: () => StoreError;
  /** Closes a connection on which the server is silent. */
  readonly reset: (connection: PooledConnection, error: StoreError) => void;
  /** Called when the server was silent on all connections for the time limit, also on this batch, before `reset`. */
  readonly silent: (batch: CommandBatch) => void;
}

/** All unanswered batches of a server. */
export class PendingBatches {
  readonly #deps: PendingBatchesDeps;
  readonly #timeoutMs: number;
  readonly #countsCommands: boolean;
  #open: CommandBatch | undefined;
  /** Closed batches that wait for a connection, oldest first. */
  #waiting: CommandBatch[] = [];
  #waitingChecks = 0;
  /**
   * In the order in which they were written. Not a Set or a Map: their discarded tables link to
   * each other, and would keep what is long done from being freed cheaply.
   */
  #inFlight: InFlight[] = [];
  #inFlightChecks = 0;
  /** When the last batch was completed. */
  #completedMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The moment the timer is set for. */
  #timerMs = Infinity;

  /** `timeoutMs` is how long a call may take; `countsCommands` is for batches. */
  constructor(deps: PendingBatchesDeps, options: { readonly timeoutMs: number; readonly countsCommands: boolean }) {
    this.#deps = deps;
    this.#timeoutMs = options.timeoutMs;
    this.#countsCommands = options.countsCommands;
  }

  /** Checks without an answer. */
  get checks(): number {
    return (this.#open?.size ?? 0) + this.#waitingChecks + this.#inFlightChecks;
  }

  /** The open batch, to which checks are added. `noteAdded` must follow each addition. */
  openBatch(nowMs: number): CommandBatch {
    return (this.#open ??= new CommandBatch(nowMs, this.#timeoutMs, { countsCommands: this.#countsCommands }));
  }

  /** Adjusts the timer to the deadlines of a batch to which checks were added. */
  noteAdded(batch: CommandBatch): void {
    if (batch.nextDeadlineMs < this.#timerMs) this.#setTimer(batch.nextDeadlineMs);
  }

  /** Queues a batch until a connection is available. */
  wait(batch: CommandBatch): void {
    this.#waiting.push(batch);
    this.#waitingChecks += batch.size;
    this.noteAdded(batch);
  }

  /** Closes the open batch; it waits for a connection now. */
  closeOpenBatch(): void {
    if (this.#open === undefined) return;
    this.#waiting.push(this.#open);
    this.#waitingChecks += this.#open.size;
    this.#open = undefined;
  }

  /**
   * Closes the open batch when it has gathered for long enough: without a connection a batch per
   * event-loop turn would make a queue of tens of thousands.
   */
  closeAgedBatch(): void {
    const { createdMs = Infinity } = this.#open ?? {};
    if (this.#deps.monotonicMs() >= createdMs + WAITING_BATCH_MS) this.closeOpenBatch();
  }

  /** True while batches wait for a connection. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Returns and removes the first waiting batches, of at most so many checks or one, to be written. */
  takeWaiting(maxChecks: number): readonly CommandBatch[] {
    let count = 0;
    let checks = 0;
    for (const { size } of this.#waiting) {
      if (count > 0 && checks + size > maxChecks) break;
      count += 1;
      checks += size;
    }
    this.#waitingChecks -= checks;
    return this.#waiting.splice(0, count);
  }

  /** Registers a batch as in flight. */
  markSent(batch: CommandBatch, connection: PooledConnection): void {
    this.#inFlight.push({ batch, connection, writtenMs: this.#deps.monotonicMs() });
    this.#inFlightChecks += batch.size;
  }

  /** Removes a batch that has its replies; false when it was given up before. */
  complete(batch: CommandBatch): boolean {
    this.#completedMs = this.#deps.monotonicMs();
    return this.#remove(batch);
  }

  #remove(batch: CommandBatch): boolean {
    // Replies come in order, so that it is among the first.
    const at = this.#inFlight.findIndex((each) => each.batch === batch);
    if (at < 0) return false;
    this.#inFlight.splice(at, 1);
    this.#inFlightChecks -= batch.size;
    return true;
  }

  /** Fails the batches that were written to a lost connection. */
  failConnection(connection: PooledConnection, error: StoreError): void {
    for (const each of [...this.#inFlight])
      if (each.connection === connection && this.#remove(each.batch)) each.batch.fail(error);
  }

  /** Fails all batches; the backend is stopping. */
  failAll(error: StoreError): void {
    clearTimeout(this.#timer);
    this.#timerMs = Infinity;
    for (const batch of this.#batches()) batch.fail(error);
    this.#open = undefined;
    this.#waiting = [];
    this.#waitingChecks = 0;
    this.#inFlight = [];
    this.#inFlightChecks = 0;
  }

  #setTimer(atMs: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    // After a pause of the process itself, replies that have come meanwhile are read first.
    const giveUpAfterReading = (): void => void setImmediate(() => this.#giveUp());
    this.#timer = setTimeout(giveUpAfterReading, timerDelayMs(atMs, this.#deps.monotonicMs()));
  }

  /**
   * Fails the calls whose time is up, closes silent connections, and sets the timer again.
   */
  #giveUp(): void {
    this.#timerMs = Infinity;
    const nowMs = this.#deps.monotonicMs();
    const isPast = (sinceMs: number): boolean => nowMs >= sinceMs + this.#timeoutMs;
    let next = this.#giveUpInFlight(nowMs, isPast);
    this.#giveUpWaiting(isPast);
    for (const batch of this.#batches()) {
      if (isPast(batch.createdMs)) continue; // In flight, its calls are answered.
      if (batch.nextDeadlineMs <= nowMs) batch.failImpatient(nowMs, this.#timeoutMs, this.#deps.text());
      if (batch.nextDeadlineMs < next) next = batch.nextDeadlineMs;
    }
    // A caller that was answered here may have called again immediately, and have set it.
    if (next < this.#timerMs) this.#setTimer(next);
  }

  /** Returns the next moment at which a server will have been silent for too long. */
  #giveUpInFlight(nowMs: number, isPast: (sinceMs: number) => boolean): number {
    let next = Infinity;
    for (const { batch, connection, writtenMs } of [...this.#inFlight]) {
      if (!isPast(batch.createdMs)) continue;
      const error = silenceError(this.#deps.text(), this.#timeoutMs);
      batch.fail(error);
      const endOfPatienceMs = writtenMs + this.#timeoutMs * SILENCE_SHARE;
      if (nowMs >= endOfPatienceMs) {
        this.#remove(batch);
        if (this.#completedMs <= writtenMs) this.#deps.silent(batch);
        // Its late replies would delay later ones, and a server that hangs needs a new connection.
        this.#deps.reset(connection, error);
      } else {
        // Its calls had waited before it was written: the server has not been silent that long.
        next = Math.min(next, endOfPatienceMs);
      }
    }
    return next;
  }

  #giveUpWaiting(isPast: (sinceMs: number) => boolean): void {
    if (this.#open !== undefined && isPast(this.#open.createdMs)) this.closeOpenBatch();
    for (const batch of this.#waiting) if (isPast(batch.createdMs)) batch.fail(this.#deps.absence());
    this.#waiting = this.#waiting.filter((batch) => !isPast(batch.createdMs));
    this.#waitingChecks = this.#waiting.reduce((sum, batch) => sum + batch.size, 0);
  }

  *#batches(): Generator<CommandBatch> {
    if (this.#open !== undefined) yield this.#open;
    yield* this.#waiting;
    for (const { batch } of this.#inFlight) yield batch;
  }
}
