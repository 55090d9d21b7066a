// Steps of refunds, for tests over each store.

/** Hits, given back if below 0, and what remains after them. */
export interface RefundStep {
  readonly hits: number;
  readonly remaining: number;
}

/** Calls against a limit of 50. */
export const REFUND_STEPS: readonly RefundStep[] = [
  { hits: 5, remaining: 45 },
  { hits: -3, remaining: 48 },
  { hits: 1, remaining: 47 },
  { hits: -101, remaining: 50 },
];

/** Calls against a limit of 1000: 500 are reserved, then 420 are charged and the 500 given back in one call. */
export const RESERVE_STEPS: readonly (readonly RefundStep[])[] = [
  [{ hits: 500, remaining: 500 }],
  [
    { hits: 420, remaining: 80 },
    { hits: -500, remaining: 580 },
  ],
];
