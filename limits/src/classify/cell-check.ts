// A descriptor whose limits are in a cell: its status from the state of the cell.
import {
  type CellLimit,
  type CellRule,
  type CellState,
  fits,
  msUntilFits,
  msUntilWhole,
  roomIn,
  wholeHits,
} from "../cell/cell.ts";
import type { RuleLimit } from "../model/rule-limit.ts";
import { type CellPart, type CountedMatch, type HitCounts, LimitedCheck } from "./check.ts";
import { cellCount, type LimitCount, ROUNDING, wholeSeconds } from "./limit-count.ts";
import { nearThreshold } from "./near-threshold.ts";
import { OK, OVER_LIMIT } from "./status.ts";

/** A descriptor to count in a cell: the store calls `settle`, then `classify` writes the status. */
export class CellCheck extends LimitedCheck implements CellPart {
  nowMs: number;
  #state: CellState = [];
  /** True if the call passes: the result of the store, but for refunds and hits that were not added. */
  #passes = true;
  #isExact = true;
  /** The limit of the answer. */
  #chosen: RuleLimit;

  constructor(match: CountedMatch, cell: CellRule, key: string, nowMs: number, hits: number) {
    super(match, key, Math.floor(nowMs / 1000), hits);
    this.nowMs = nowMs;
    // If rejected hits do not count, a refund could give back what was never taken.
    if (hits < 0 && !cell.countsRejected) this.addend = 0;
    this.#chosen = cell.limits[0]?.limit ?? match.rule.limit;
  }

  override get cell(): this {
    return this;
  }

  get rule(): CellRule {
    const { cell } = this.match.rule;
    if (cell === undefined) throw new Error(`The rule ${this.match.rule.path} has no cell`);
    return cell;
  }

  override get currentLimit(): RuleLimit {
    return this.#chosen;
  }

  settle(passes: boolean, state: CellState, nowMs: number, isExact = true): void {
    this.#state = state;
    this.#isExact = isExact;
    this.nowMs = nowMs;
    this.#passes = passes || this.hits < 0;
    // Hits that were withheld, or only read, are compared with the room themselves.
    if (this.addend === 0 && this.hits > 0) this.#passes = !this.wouldBeOver();
  }

  /** Returns true if the hits of the call do not fit into the state that was read. */
  override wouldBeOver(): boolean {
    return this.rule.limits.some((limit, index) => !fits(roomIn(limit, this.#state, index, this.nowMs), this.hits));
  }

  override counts(): readonly LimitCount[] {
    return this.rule.limits.map((limit, index) => cellCount(limit, this.#state, index, this.nowMs));
  }

  classify(nearLimitRatio: number): boolean {
    const { limits } = this.rule;
    const { attachment, attachments } = this.match;
    const isCounted = this.addend !== 0 && (this.#passes || this.rule.countsRejected);
    let chosen = limits[0];
    let [chosenAt, chosenRoom, chosenMs] = [0, Infinity, -1];
    for (let index = 0; index < limits.length; index++) {
      const limit = limits[index];
      if (limit === undefined) continue;
      const room = roomIn(limit, this.#state, index, this.nowMs);
      // Counted hits are part of the state that they did not fit into.
      const isOver = !this.#passes && !fits(isCounted ? room + this.hits : room, this.hits);
      const untilMs = isOver ? msUntilFits(limit, this.#state, index, this.nowMs, this.hits) : -1;
      // The limit that rejects for longest, else the one with least room; the first of equals.
      const isBetter = untilMs > chosenMs || (untilMs < 0 && chosenMs < 0 && wholeHits(room) < wholeHits(chosenRoom));
      if (isBetter) [chosen, chosenAt, chosenRoom, chosenMs] = [limit, index, room, untilMs];
      const counts = attachments === undefined ? attachment : attachments[index];
      // A limit with room counts what another one rejects only if that is counted.
      if (counts !== undefined && this.hits >= 0 && (isOver || isCounted || this.hits === 0))
        this.#addTo(counts, limit, room, { isOver, isCounted, nearLimitRatio });
    }
    if (chosen !== undefined) this.#answer(chosen, chosenAt, chosenRoom, chosenMs);
    return !this.#passes;
  }

  /**
   * Seconds from `nowSeconds` for which not even one hit will pass; 0 for several limits, which the cache cannot tell
   * apart, where rejected hits count, which the store has to be told, and where the state is not exact.
   */
  override cacheSeconds(nowSeconds: number): number {
    const { limits, countsRejected } = this.rule;
    const [limit, ...others] = limits;
    if (limit === undefined || others.length > 0 || countsRejected || !this.#isExact) return 0;
    const untilMs = this.nowMs + msUntilFits(limit, this.#state, 0, this.nowMs, 1);
    return Math.max(0, Math.floor(untilMs / 1000) - nowSeconds);
  }

  /** `untilMs` is when the call would pass, below 0 if it does. */
  #answer(limit: CellLimit, index: number, room: number, untilMs: number): void {
    const { shadowMode } = this.match.rule;
    this.#chosen = limit.limit;
    this.code = this.#passes || shadowMode ? OK : OVER_LIMIT;
    this.limitRemaining = !this.#passes && shadowMode ? 0 : wholeHits(room);
    const resetMs = untilMs < 0 ? msUntilWhole(limit, this.#state, index, this.nowMs) : untilMs;
    this.durationUntilResetSeconds = Math.max(1, wholeSeconds(resetMs));
  }

  #addTo(
    counts: HitCounts,
    { capacity }: CellLimit,
    room: number,
    how: { readonly isOver: boolean; readonly isCounted: boolean; readonly nearLimitRatio: number },
  ): void {
    const { hits } = this;
    const used = Math.ceil(capacity - room - ROUNDING);
    const before = used - hits;
    const threshold = nearThreshold(capacity, how.nearLimitRatio);
    if (!how.isOver) {
      counts.withinLimit += hits;
      if (used > threshold) counts.nearLimit += before >= threshold ? hits : used - threshold;
      return;
    }
    // Hits that count although they are rejected may begin below the limit.
    const isStraddling = how.isCounted && before < capacity;
    const over = isStraddling ? used - capacity : hits;
    counts.overLimit += over;
    if (isStraddling) counts.nearLimit += capacity - Math.max(threshold, before);
    if (this.match.rule.shadowMode) counts.shadowMode += over;
  }
}
