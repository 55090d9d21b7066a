// The keys that await a reconcile: each once, never two at a time of one key, and none lost. Pure: time
// comes in, and the controller carries out.
import { Backoff } from "@weir/common/backoff/backoff";

import type { ObjectKey } from "./reconciler.ts";

/** Growth of the waits after failures of a key: each twice as long as the one before. */
const BACKOFF_FACTOR = 1;

/** Waits after failures. */
export interface WorkQueueOptions {
  /** First wait, in milliseconds. */
  readonly backoffInitialMs: number;
  /** Longest wait, in milliseconds. */
  readonly backoffMaxMs: number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
}

/** Receives the events of a queue, with times in milliseconds; for metrics. */
export interface WorkQueueObserver {
  /** A key that did not wait yet waits now. */
  added(): void;
  /** A key is tried again after a failure. */
  retried(): void;
  /** A reconcile has begun. */
  began(waitedMs: number): void;
  /** A reconcile has ended. */
  ended(workedMs: number): void;
}

/** The state of a key that waits or is worked on. */
interface Entry {
  readonly key: ObjectKey;
  /** Since when it waits for its turn; undefined while it does not. */
  wantedMs: number | undefined;
  /** When it will wait for its turn although nothing has changed. */
  dueMs: number | undefined;
  /** Since when it is worked on. */
  beganMs: number | undefined;
  /** Since its last success. */
  backoff: Backoff | undefined;
}

/** The queue of one controller. Times are of a clock that only goes forward, in milliseconds. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #observer: WorkQueueObserver;
  readonly #entries = new Map<string, Entry>();
  /** Keys whose turn can come, in order: they are wanted and not worked on. */
  readonly #ready = new Set<Entry>();
  /** Keys that are worked on. */
  readonly #running = new Set<Entry>();
  /** No delayed key is due before; a key may have become wanted earlier meanwhile. */
  #nextDueMs = Infinity;

  constructor(observer: WorkQueueObserver, options: WorkQueueOptions) {
    this.#observer = observer;
    this.#options = options;
  }

  /** Keys whose turn can come. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Keys that are worked on. */
  get running(): number {
    return this.#running.size;
  }

  /** When a key becomes due that waits for a time; Infinity when none does. */
  get nextDueMs(): number {
    return this.#nextDueMs;
  }

  /** How long each key has been worked on. */
  workedMs(nowMs: number): readonly number[] {
    return [...this.#running].map(({ beganMs = nowMs }) => nowMs - beganMs);
  }

  /** Wants a reconcile of the key that begins from now on; one that has begun before is not enough. */
  add(key: ObjectKey, nowMs: number): void {
    this.#want(this.#entryOf(key), nowMs);
  }

  /** The next key, which is worked on until `succeed` or `fail`; undefined when none waits. */
  take(nowMs: number): ObjectKey | undefined {
    this.#wantDue(nowMs);
    const [entry] = this.#ready;
    if (entry === undefined) return undefined;
    this.#ready.delete(entry);
    this.#running.add(entry);
    this.#observer.began(nowMs - (entry.wantedMs ?? nowMs));
    entry.wantedMs = undefined;
    entry.dueMs = undefined;
    entry.beganMs = nowMs;
    return entry.key;
  }

  /** Ends the work on a key; it is due again after `againAfterMs`, if that is given. */
  succeed(key: ObjectKey, nowMs: number, againAfterMs: number | undefined): void {
    const entry = this.#end(key, nowMs);
    entry.backoff = undefined;
    if (againAfterMs !== undefined) this.#delay(entry, nowMs + againAfterMs);
    if (entry.wantedMs === undefined && entry.dueMs === undefined) this.#entries.delete(textOf(key));
  }

  /** Ends the work on a key, which is due again after a wait that it returns, in milliseconds, within these bounds. */
  fail(key: ObjectKey, nowMs: number, { atLeastMs = 0, atMostMs = Infinity } = {}): number {
    const entry = this.#end(key, nowMs);
    const { backoffInitialMs: initialMs, backoffMaxMs: maxMs, random } = this.#options;
    entry.backoff ??= new Backoff({ initialMs, maxMs, factor: BACKOFF_FACTOR, jitter: true, random });
    const waitMs = Math.max(atLeastMs, Math.min(atMostMs, entry.backoff.nextMs()));
    this.#observer.retried();
    this.#delay(entry, nowMs + waitMs);
    return waitMs;
  }

  /** Forgets the keys that wait. Work that has begun must have ended. */
  clear(): void {
    this.#entries.clear();
    this.#ready.clear();
    this.#nextDueMs = Infinity;
  }

  #entryOf(key: ObjectKey): Entry {
    const text = textOf(key);
    const known = this.#entries.get(text);
    if (known !== undefined) return known;
    const entry = { key, wantedMs: undefined, dueMs: undefined, beganMs: undefined, backoff: undefined };
    this.#entries.set(text, entry);
    return entry;
  }

  #want(entry: Entry, nowMs: number): void {
    if (entry.wantedMs !== undefined) return;
    entry.wantedMs = nowMs;
    entry.dueMs = undefined;
    this.#observer.added();
    // Otherwise its turn comes when the work on it has ended.
    if (entry.beganMs === undefined) this.#ready.add(entry);
  }

  #end(key: ObjectKey, nowMs: number): Entry {
    const entry = this.#entries.get(textOf(key));
    if (entry?.beganMs === undefined) throw new TypeError(`Cannot end the work on ${textOf(key)}: it has not begun`);
    this.#observer.ended(nowMs - entry.beganMs);
    entry.beganMs = undefined;
    this.#running.delete(entry);
    if (entry.wantedMs !== undefined) this.#ready.add(entry);
    return entry;
  }

  /** One that is wanted already comes sooner. */
  #delay(entry: Entry, dueMs: number): void {
    if (entry.wantedMs !== undefined) return;
    entry.dueMs = dueMs;
    this.#nextDueMs = Math.min(this.#nextDueMs, dueMs);
  }

  #wantDue(nowMs: number): void {
    if (nowMs < this.#nextDueMs) return;
    this.#nextDueMs = Infinity;
    for (const entry of this.#entries.values()) {
      if (entry.dueMs === undefined) continue;
      if (entry.dueMs <= nowMs) this.#want(entry, nowMs);
      else this.#nextDueMs = Math.min(this.#nextDueMs, entry.dueMs);
    }
  }
}

function textOf({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
