// The cell of a rule, from its limits as they are configured.
import { DEFAULT_ALGORITHM, isPlainCount, type RateLimitModel } from "../model/model.ts";
import type { RuleLimit } from "../model/rule-limit.ts";
import type { CalendarWindows } from "../window/calendar.ts";
import { type CellLimit, type CellRule, FIXED_WINDOW, SLIDING_WINDOW, TOKEN_BUCKET } from "./cell.ts";

/** One limit and what the compiler made of it. */
export interface CompiledLimit {
  readonly model: RateLimitModel;
  readonly limit: RuleLimit;
  readonly windowSeconds: number;
  readonly calendar: CalendarWindows | undefined;
}

const ALGORITHMS = {
  fixed_window: { algorithm: FIXED_WINDOW, letter: "f" },
  sliding_window: { algorithm: SLIDING_WINDOW, letter: "s" },
  token_bucket: { algorithm: TOKEN_BUCKET, letter: "b" },
} as const;

/** The cell of a rule with these limits; undefined when a plain count does: one fixed window that counts all hits. */
export function cellRuleOf(limits: readonly CompiledLimit[]): CellRule | undefined {
  const [first] = limits;
  if (first === undefined) return undefined;
  if (isPlainCount(limits.map(({ model }) => model))) return undefined;
  const countsRejected = first.model.countRejectedHits === true;
  const cellLimits = limits.map(cellLimitOf);
  return {
    limits: cellLimits,
    countsRejected,
    wholeMs: Math.max(...cellLimits.map(wholeMsOf)),
    keyEnd: `_~${limits.map(shapeOf).join("")}`,
  };
}

function cellLimitOf({ model, limit, windowSeconds, calendar }: CompiledLimit): CellLimit {
  const { algorithm } = algorithmOf(model);
  return { limit, algorithm, windowMs: windowSeconds * 1000, capacity: model.burst ?? limit.requestsPerUnit, calendar };
}

function wholeMsOf({ algorithm, windowMs, capacity, limit }: CellLimit): number {
  switch (algorithm) {
    case FIXED_WINDOW:
      return windowMs;
    case SLIDING_WINDOW:
      return 2 * windowMs;
    case TOKEN_BUCKET:
      return (windowMs * capacity) / Math.max(1, limit.requestsPerUnit);
  }
}

/** The kind and the length of a limit; with its time zone and first day if it has its own edges. */
function shapeOf({ model, windowSeconds }: CompiledLimit): string {
  const { timeZone, monthDay, unit, unitMultiplier = 1 } = model;
  const { letter } = algorithmOf(model);
  if (timeZone === undefined) return `${letter}${windowSeconds}`;
  // Months begin on the 1st, named or not.
  return `${letter}${unitMultiplier}${unit.toLowerCase()}${monthDay === 1 ? "" : (monthDay ?? "")}@${timeZone}`;
}

function algorithmOf({ algorithm = DEFAULT_ALGORITHM }: RateLimitModel) {
  const known = Object.entries(ALGORITHMS).find(([name]) => name === algorithm)?.[1];
  if (known === undefined) throw new Error(`A limit reached the compiler with the algorithm '${algorithm}'`);
  return known;
}
