// The deadlines of all calls of a process, in a wheel of time slots: one timer serves all of them. With a timer
// for each call a decision takes 1.26 times as long at 8 × 64 (docs/benchmark-trials.md).

/** How exactly deadlines are kept, in milliseconds. */
export const DEADLINE_TICK_MS = 10;

/** Slots of the wheel, a power of two; later deadlines wait for further turns of it. */
const SLOTS = 512;

/** Something with a deadline: an element of a doubly linked list, so that it is removed in one step. */
export interface DeadlineEntry {
  /** The first tick that is not before the deadline. */
  deadlineTick: number;
  previousDeadline: DeadlineEntry | undefined;
  nextDeadline: DeadlineEntry | undefined;
  /** The deadline has passed. The entry has been removed. */
  expire(): void;
}

/** The head of a slot's list, which is a circle. */
class Slot implements DeadlineEntry {
  deadlineTick = Infinity;
  previousDeadline: DeadlineEntry = this;
  nextDeadline: DeadlineEntry = this;

  expire(): void {}
}

/** The wheel. */
export class Deadlines {
  readonly #slots: readonly Slot[] = Array.from({ length: SLOTS }, () => new Slot());
  readonly #startMs: number;
  readonly #onFirst: () => void;
  #tick = 0;
  #count = 0;

  /**
   * Ticks are counted from `startMs`, so that they are small integers. `onFirst` is called when the
   * wheel is no longer empty: from then on it has to be advanced.
   */
  constructor(startMs: number, onFirst: () => void) {
    this.#startMs = startMs;
    this.#onFirst = onFirst;
  }

  /** Entries that wait for their deadline. */
  get count(): number {
    return this.#count;
  }

  /** Adds an entry that is in no wheel. */
  add(entry: DeadlineEntry, deadlineMs: number, nowMs: number): void {
    if (this.#count === 0) {
      this.#tick = Math.floor(this.#ticks(nowMs));
      this.#onFirst();
    }
    this.#count += 1;
    // A deadline that has passed ends with the next tick.
    entry.deadlineTick = Math.max(Math.ceil(this.#ticks(deadlineMs)), this.#tick + 1);
    const slot = this.#slotOf(entry.deadlineTick);
    const last = slot.previousDeadline;
    entry.previousDeadline = last;
    entry.nextDeadline = slot;
    last.nextDeadline = entry;
    slot.previousDeadline = entry;
  }

  /** Removes an entry; does nothing when it is in no wheel. */
  remove(entry: DeadlineEntry): void {
    const { previousDeadline, nextDeadline } = entry;
    if (previousDeadline === undefined || nextDeadline === undefined) return;
    previousDeadline.nextDeadline = nextDeadline;
    nextDeadline.previousDeadline = previousDeadline;
    entry.previousDeadline = undefined;
    entry.nextDeadline = undefined;
    this.#count -= 1;
  }

  /** Ends what has passed. To be called every {@link DEADLINE_TICK_MS} while there are entries. */
  advance(nowMs: number): void {
    const target = Math.floor(this.#ticks(nowMs));
    const first = Math.max(this.#tick + 1, target - SLOTS + 1);
    this.#tick = Math.max(this.#tick, target);
    for (let tick = first; tick <= target; tick++) this.#expireSlot(this.#slotOf(tick), target);
  }

  #expireSlot(slot: Slot, tick: number): void {
    const due: DeadlineEntry[] = [];
    for (let entry = slot.nextDeadline; entry !== slot; entry = entry.nextDeadline ?? slot)
      if (entry.deadlineTick <= tick) due.push(entry);
    for (const entry of due) {
      if (entry.nextDeadline === undefined) continue; // An earlier one has removed it.
      this.remove(entry);
      entry.expire();
    }
  }

  #ticks(ms: number): number {
    return (ms - this.#startMs) / DEADLINE_TICK_MS;
  }

  #slotOf(tick: number): Slot {
    const slot = this.#slots[tick & (SLOTS - 1)];
    if (slot === undefined) throw new Error(`Cannot find a slot: tick ${tick} is not a whole number`);
    return slot;
  }
}
