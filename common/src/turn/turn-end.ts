// Runs work at the end of the event-loop turn: everything that the turn has gathered for a socket
// is then written in one piece. An idle process writes in the turn in which it has something.

/** Something to do at the end of a turn. */
export interface TurnTask {
  /**
   * Called once for each time that it was scheduled. It must not throw: the process would end, as it
   * does for every error of a callback.
   */
  runAtTurnEnd(): void;
}

/**
 * The end of the event-loop turn. Commands for stores are written first, so that the store works
 * while the answers are written.
 */
export class TurnEnd {
  readonly #readClock: () => number;
  readonly #readMonotonic: () => number;
  #stores: TurnTask[] = [];
  #answers: TurnTask[] = [];
  #isArmed = false;
  #nowMs: number | undefined;
  #monotonicMs: number | undefined;
  readonly #run = (): void => this.#runAll();

  /** `readClock` returns milliseconds since the epoch, `readMonotonic` those of a clock that only goes forward. */
  constructor(readClock: () => number = Date.now, readMonotonic: () => number = () => performance.now()) {
    this.#readClock = readClock;
    this.#readMonotonic = readMonotonic;
  }

  /** Milliseconds since the epoch: the clock is read once per turn. */
  nowMs(): number {
    if (this.#nowMs !== undefined) return this.#nowMs;
    this.#arm();
    return (this.#nowMs = this.#readClock());
  }

  /** Milliseconds by a clock that only goes forward, for durations and deadlines; read once per turn, too. */
  monotonicMs(): number {
    if (this.#monotonicMs !== undefined) return this.#monotonicMs;
    this.#arm();
    return (this.#monotonicMs = this.#readMonotonic());
  }

  /** Runs the task at the end of this turn, before all answers. A task schedules itself once per turn. */
  writeToStore(task: TurnTask): void {
    this.#stores.push(task);
    this.#arm();
  }

  /** Runs the task at the end of this turn, after what stores are sent. Once per turn and task. */
  writeAnswers(task: TurnTask): void {
    this.#answers.push(task);
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(this.#run);
  }

  /** Runs all tasks, also those that tasks schedule meanwhile: they belong to this turn, too. */
  #runAll(): void {
    while (this.#stores.length > 0 || this.#answers.length > 0) {
      const stores = this.#stores;
      if (stores.length > 0) {
        this.#stores = [];
        for (const task of stores) task.runAtTurnEnd();
        continue;
      }
      const answers = this.#answers;
      this.#answers = [];
      for (const task of answers) task.runAtTurnEnd();
    }
    this.#isArmed = false;
    this.#nowMs = undefined;
    this.#monotonicMs = undefined;
  }
}
