// When to end each of many streams so that their pods do not all come back at the same moment.
// Pure.

/**
 * The part of the time that passes before the first stream ends: whoever sends pods here must first
 * have heard that this replica stops.
 */
const LEAD = 0.2;

/**
 * How long each of `count` streams goes on within `overMs`, in milliseconds: evenly spread, the
 * last one ends before the time is over.
 */
export function spreadDelaysMs(count: number, overMs: number): readonly number[] {
  const leadMs = overMs * LEAD;
  const stepMs = (overMs - leadMs) / (count + 1);
  return Array.from({ length: count }, (_, index) => Math.round(leadMs + stepMs * (index + 1)));
}
