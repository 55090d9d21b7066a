// Checks that no node can carry out right now: they are sent again after a moment, for as long as
// their calls may take. It holds a bounded number, and knows no server; sending again is what it is
// handed.
import type { StoreError } from "../../store-error.ts";
import { replyError } from "../store-errors.ts";
import { failChecks, type KeyChecks, Turn } from "../turn.ts";

/** Wait before checks are sent again, in milliseconds: the field's. */
const WAIT_MS = 100;

/** Most checks that wait at a time; each holds a call of some hundred bytes. */
const MAX_CHECKS = 100_000;

/** What it works with. */
export interface ParkedChecksDeps {
  /** Sends checks again; their calls have waited since `createdMs`. */
  readonly send: (checks: readonly KeyChecks[], createdMs: number) => void;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Its limits. */
export interface ParkedChecksOptions {
  /** Longest time of a call, in milliseconds. */
  readonly timeoutMs: number;
  /** The cluster, for messages. */
  readonly text: string;
}

/** Checks that came together. */
interface Parked {
  readonly checks: readonly KeyChecks[];
  /** The same checks once more: it knows the deadlines of their calls. */
  readonly turn: Turn;
  readonly dueMs: number;
  /** Why they wait. */
  readonly cause: Error;
}

/** The checks that wait, oldest first. */
export class ParkedChecks {
  readonly #deps: ParkedChecksDeps;
  readonly #options: ParkedChecksOptions;
  #parked: Parked[] = [];
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerMs = Infinity;
  #closed: StoreError | undefined;

  constructor(deps: ParkedChecksDeps, options: ParkedChecksOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Number of checks that wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * Takes checks that came at `createdMs`; `cause` is what their calls fail with when nothing
   * changes in time.
   */
  add(checks: readonly KeyChecks[], createdMs: number, cause: Error): void {
    const error = this.#closed ?? (this.#size >= MAX_CHECKS ? replyError(this.#options.text, cause) : undefined);
    if (error !== undefined) {
      for (const each of checks) failChecks(each, error);
      return;
    }
    const turn = new Turn(createdMs, this.#options.timeoutMs);
    for (const each of checks) turn.adopt(each);
    const dueMs = this.#deps.clock() + WAIT_MS;
    this.#parked.push({ checks, turn, dueMs, cause });
    this.#size += turn.size;
    this.#setTimer(Math.min(dueMs, turn.nextDeadlineMs));
  }

  /** Fails what waits, and all that comes from now on. */
  close(error: StoreError): void {
    this.#closed = error;
    clearTimeout(this.#timer);
    for (const { checks } of this.#parked) for (const each of checks) failChecks(each, error);
    this.#parked = [];
    this.#size = 0;
  }

  #setTimer(atMs: number): void {
    if (atMs >= this.#timerMs) return;
    clearTimeout(this.#timer);
    this.#timerMs = atMs;
    this.#timer = setTimeout(() => this.#look(), Math.max(0, atMs - this.#deps.clock()));
  }

  /** Fails the calls whose time is up, and sends again what has waited long enough. */
  #look(): void {
    const nowMs = this.#deps.clock();
    const { timeoutMs, text } = this.#options;
    const due: Parked[] = [];
    const rest: Parked[] = [];
    this.#timerMs = Infinity;
    for (const parked of this.#parked) {
      const { turn, checks, cause, dueMs } = parked;
      // A clock that stepped back says nothing about how long they have waited: nobody waits for it
      // to catch up.
      if (nowMs >= turn.createdMs + timeoutMs || nowMs < turn.createdMs) {
        for (const each of checks) failChecks(each, replyError(text, cause));
        continue;
      }
      turn.failImpatient(nowMs, timeoutMs, text);
      if (nowMs >= dueMs) due.push(parked);
      else rest.push(parked);
    }
    this.#parked = rest;
    this.#size = rest.reduce((sum, { turn }) => sum + turn.size, 0);
    for (const { turn, dueMs } of rest) this.#setTimer(Math.min(dueMs, turn.nextDeadlineMs));
    for (const { checks, turn } of due) this.#deps.send(checks, turn.createdMs);
  }
}
