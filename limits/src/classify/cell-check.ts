// A descriptor whose limits are in a cell: its status from the state of the cell.
import {
  type CellLimit,
  type CellRule,
  type CellState,
  CELL_NUMBERS,
  fits,
  msUntilFits,
  msUntilWhole,
  roomIn,
  wholeHits,
} from "../cell/cell.ts";
import type { RuleLimit } from "../rules/rule.ts";
import { type CountedMatch, type HitCounts, LimitedCheck } from "./check.ts";
import { nearThreshold } from "./near-threshold.ts";
import { OK, OVER_LIMIT } from "./status.ts";

/** Rounding of sums in milliseconds, in seconds: what is due at a whole second is not due one later. */
const ROUNDING_SECONDS = 1e-6;

/** Longest reset, in seconds: ten years, also for a bucket that never leaks. */
const RESET_MAX_SECONDS = 315_360_000;

/** A descriptor to count in a cell: the store calls `settle`, then `classifyCell` writes the status. */
export class CellCheck extends LimitedCheck {
  /** Time of the call in milliseconds since the epoch; by the clock of the store once that has counted. */
  nowMs: number;
  #state: CellState = [];
  /** Whether the store let the call pass. */
  #passes = true;
  /** The limit of the answer. */
  #chosen: RuleLimit;

  constructor(match: CountedMatch, cell: CellRule, key: string, nowMs: number, hits: number) {
    super(match, key, Math.floor(nowMs / 1000), hits);
    this.nowMs = nowMs;
    // Where rejected hits do not count, a refund could give back what was never taken.
    if (hits < 0 && !cell.countsRejected) this.addend = 0;
    this.#chosen = cell.limits[0]?.limit ?? match.rule.limit;
  }

  override get cell(): this {
    return this;
  }

  /** The limits. */
  get rule(): CellRule {
    const { cell } = this.match.rule;
    if (cell === undefined) throw new Error(`The rule ${this.match.rule.path} has no cell`);
    return cell;
  }

  override get currentLimit(): RuleLimit {
    return this.#chosen;
  }

  /** Takes the result of the store: whether this call passes, and the state after it at that moment. */
  settle(passes: boolean, state: CellState, nowMs: number): void {
    this.#state = state;
    this.nowMs = nowMs;
    this.#passes = passes || this.hits < 0;
    // Hits that were withheld, or only read, are compared with the room themselves.
    if (this.addend === 0 && this.hits > 0) this.#passes = !this.wouldBeOver();
  }

  /** Whether the hits of the call do not fit into the state that was read. */
  override wouldBeOver(): boolean {
    return this.rule.limits.some((limit, index) => !fits(roomIn(limit, this.#state, index, this.nowMs), this.hits));
  }

  /** Writes code, remaining and reset, and adds the hits to the counts of each limit; returns whether one is over. */
  classify(nearLimitRatio: number): boolean {
    const { limits } = this.rule;
    const rejecting = this.#passes ? [] : limits.map((_, index) => index).filter((index) => this.#rejects(index));
    this.#answer(rejecting);
    if (this.hits < 0) return false;
    limits.forEach((limit, index) => {
      const counts = (this.match.attachments ?? [this.match.attachment])[index];
      if (counts !== undefined)
        this.#addTo(counts, limit, index, { isOver: rejecting.includes(index), nearLimitRatio });
    });
    return !this.#passes;
  }

  /** Seconds from `nowSeconds` for which not even one hit will pass; 0 for several limits, which the cache cannot tell apart. */
  override cacheSeconds(nowSeconds: number): number {
    const [limit, ...others] = this.rule.limits;
    if (limit === undefined || others.length > 0) return 0;
    const untilMs = this.nowMs + msUntilFits(limit, this.#state, 0, this.nowMs, 1);
    return Math.max(0, Math.floor(untilMs / 1000) - nowSeconds);
  }

  /** The limit that rejects for longest, else the one with least remaining; the first of equals. */
  #answer(rejecting: readonly number[]): void {
    const { limits } = this.rule;
    const from = rejecting.length > 0 ? rejecting : limits.map((_, index) => index);
    let best = { index: 0, order: Infinity };
    for (const index of from) {
      const limit = limits[index];
      if (limit === undefined) continue;
      const order = rejecting.length > 0 ? -this.#untilPassesMs(limit, index) : this.#remaining(limit, index);
      if (order < best.order) best = { index, order };
    }
    const limit = limits[best.index];
    if (limit === undefined) return;
    const isOver = rejecting.length > 0;
    this.#chosen = limit.limit;
    this.code = isOver && !this.match.rule.shadowMode ? OVER_LIMIT : OK;
    this.limitRemaining = isOver && this.match.rule.shadowMode ? 0 : this.#remaining(limit, best.index);
    this.durationUntilResetSeconds = wholeSeconds(
      isOver ? this.#untilPassesMs(limit, best.index) : msUntilWhole(limit, this.#state, best.index, this.nowMs),
    );
  }

  /** Whether a limit is why the call does not pass: counted hits are part of its state. */
  #rejects(index: number): boolean {
    const limit = this.rule.limits[index];
    if (limit === undefined) return false;
    const room = roomIn(limit, this.#state, index, this.nowMs);
    return !fits(this.#isCounted ? room + this.hits : room, this.hits);
  }

  get #isCounted(): boolean {
    return this.addend !== 0 && (this.#passes || this.rule.countsRejected);
  }

  #untilPassesMs(limit: CellLimit, index: number): number {
    return msUntilFits(limit, this.#state, index, this.nowMs, this.hits);
  }

  #remaining(limit: CellLimit, index: number): number {
    return wholeHits(roomIn(limit, this.#state, index, this.nowMs));
  }

  #addTo(
    counts: HitCounts,
    limit: CellLimit,
    index: number,
    { isOver, nearLimitRatio }: { readonly isOver: boolean; readonly nearLimitRatio: number },
  ): void {
    const { hits } = this;
    if (!isOver && !this.#isCounted && hits > 0) return; // There is room, but not in another limit.
    const used = Math.ceil(limit.capacity - roomIn(limit, this.#state, index, this.nowMs) - ROUNDING_SECONDS);
    const before = used - hits;
    const threshold = nearThreshold(limit.capacity, nearLimitRatio);
    if (!isOver) {
      counts.withinLimit += hits;
      if (used > threshold) counts.nearLimit += before >= threshold ? hits : used - threshold;
      return;
    }
    // What counts although it is rejected may begin below the limit.
    const isStraddling = this.#isCounted && before < limit.capacity;
    const over = isStraddling ? used - limit.capacity : hits;
    counts.overLimit += over;
    if (isStraddling) counts.nearLimit += limit.capacity - Math.max(threshold, before);
    if (this.match.rule.shadowMode) counts.shadowMode += over;
  }
}

/** An empty state of so many limits. */
export function emptyCellState(limits: number): CellState {
  return new Array<number>(limits * CELL_NUMBERS).fill(0);
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(Math.min(ms / 1000, RESET_MAX_SECONDS) - ROUNDING_SECONDS));
}
