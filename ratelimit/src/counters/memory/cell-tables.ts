// Cells in the memory of the process. They have no window that ends, so they are dropped by generation: what
// was not written for as long as it needs to become whole is as good as absent.
import { type CellRule, type CellState, countInCell, emptyCell, msUntilWhole } from "@weir/limits/cell/cell";
import type { CountedCheck, CountedCell } from "../counter.ts";
import { CountTable } from "./count-table.ts";
import type { StoredKey } from "./stored-key.ts";

/** Two generations of cells that become whole within a period. */
class Generations {
  /** The number of the period of `young`. */
  #period = 0;
  readonly #periodMs: number;
  readonly #numbers: number;
  young: CountTable;
  old: CountTable;

  constructor(periodMs: number, numbers: number) {
    this.#periodMs = periodMs;
    this.#numbers = numbers;
    this.young = new CountTable(numbers);
    this.old = new CountTable(numbers);
  }

  /** Drops what was not written for a period. A clock that is set back drops nothing. */
  moveTo(nowMs: number): void {
    const period = Math.floor(nowMs / this.#periodMs);
    if (period <= this.#period) return;
    this.old = period === this.#period + 1 ? this.young : new CountTable(this.#numbers);
    this.young = new CountTable(this.#numbers);
    this.#period = period;
  }

  get size(): number {
    return this.young.size + this.old.size;
  }
}

/** The cells of all rules. */
export class CellTables {
  /** By numbers of a cell, then by the bits of the seconds of a period. */
  readonly #generations = new Map<number, Map<number, Generations>>();

  /** Number of keys; one that was written in both generations counts twice. */
  get size(): number {
    let size = 0;
    for (const byBits of this.#generations.values()) for (const each of byBits.values()) size += each.size;
    return size;
  }

  /** Drops the cells that are whole by then. */
  drop(nowMs: number): void {
    for (const byBits of this.#generations.values()) for (const each of byBits.values()) each.moveTo(nowMs);
  }

  /** Counts a check in its cell; false when its key is new and there is no room. `addend` is that of the check, or 0. */
  count(key: StoredKey, cell: CountedCell, addend: CountedCheck["addend"], hasRoom: () => boolean): boolean {
    const { rule, nowMs } = cell;
    const state = emptyCell(rule);
    const bits = periodBits(rule.wholeMs);
    const present = this.#find(key, state, bits, nowMs);
    const found = present !== undefined;
    const passes = countInCell(rule, state, { nowMs, hits: addend, calls: 1 }) > 0;
    const isChanged = addend > 0 ? passes || rule.countsRejected : addend < 0 && found;
    // A cell never goes back to a shorter period, where an earlier state of it may be.
    const written = Math.max(present ?? bits, rule.countsRejected ? periodBits(restMs(rule, state, nowMs)) : 0);
    if (isChanged && !this.#write(key, state, { bits: written, nowMs, hasRoom: found || hasRoom() })) return false;
    cell.settle(passes || addend < 0, state, nowMs);
    return true;
  }

  /**
   * Reads the cell of the key, and returns the bits of its period, longer ones after a debt; undefined when there is
   * none.
   */
  #find(key: StoredKey, state: CellState, bits: number, nowMs: number): number | undefined {
    const byBits = this.#generations.get(state.length);
    if (byBits === undefined) return undefined;
    // A cell of a longer period is the later one: the other is dropped before it.
    for (let each = Math.max(bits, ...byBits.keys()); each >= bits; each--) {
      const generations = byBits.get(each);
      if (generations === undefined) continue;
      generations.moveTo(nowMs);
      for (const table of [generations.young, generations.old]) {
        const place = table.find(key);
        if (place === 0) continue;
        table.read(place, state);
        return each;
      }
    }
    return undefined;
  }

  /** Writes a cell into the younger generation of its period; false when it is new there and there is no room. */
  #write(
    key: StoredKey,
    state: CellState,
    { bits, nowMs, hasRoom }: { readonly bits: number; readonly nowMs: number; readonly hasRoom: boolean },
  ): boolean {
    const byBits = this.#generations.getOrInsertComputed(state.length, () => new Map<number, Generations>());
    const generations = byBits.getOrInsertComputed(bits, () => new Generations(2 ** bits * 1000, state.length));
    generations.moveTo(nowMs);
    const { young } = generations;
    let place = young.find(key);
    if (place === 0) {
      if (!(hasRoom && young.insert(key, 0))) return false;
      place = young.find(key);
    }
    young.write(place, state);
    return true;
  }
}

/** How long it takes until the cell is whole: longer than without debts. */
function restMs({ limits }: CellRule, state: CellState, nowMs: number): number {
  return Math.max(...limits.map((limit, index) => msUntilWhole(limit, state, index, nowMs)));
}

/** The bits of the shortest period of that length: a power of two in seconds, at most 17 years. */
function periodBits(ms: number): number {
  return Math.min(29, Math.ceil(Math.log2(Math.max(1, ms / 1000))));
}
