// The waits between attempts: they grow up to a maximum, with jitter.

/** The shape of a back-off. */
export interface BackoffOptions {
  /** First wait, in milliseconds; above 0. */
  readonly initialMs: number;
  /** Longest wait, in milliseconds; at least `initialMs`. */
  readonly maxMs: number;
  /**
   * Growth per attempt: 0.5 makes each wait half as long again as the one before, 0 keeps them
   * equal.
   */
  readonly factor: number;
  /**
   * True draws each wait from the upper half of its length, so that many clients do not retry
   * together.
   */
  readonly jitter: boolean;
  /** A number from 0 up to but not including 1, such as Math.random. */
  readonly random: () => number;
}

/** Waits that grow from attempt to attempt. */
export interface Backoff {
  /** The next wait in milliseconds; every call counts as one more failed attempt. */
  nextMs(): number;
  /** Starts over, after an attempt that succeeded. */
  reset(): void;
}

/**
 * A back-off whose n-th wait (from 0) is min(max, initial × (1 + factor)^n), with jitter between
 * half of that and all of it.
 */
export function createBackoff(options: BackoffOptions): Backoff {
  const { initialMs, maxMs, factor, jitter, random } = options;
  if (!(initialMs > 0))
    throw new RangeError(`Cannot back off: initialMs must be above 0, current value is ${initialMs}`);
  if (!(maxMs >= initialMs))
    throw new RangeError(`Cannot back off: maxMs must be at least initialMs, current value is ${maxMs}`);
  if (!(factor >= 0)) throw new RangeError(`Cannot back off: factor must be at least 0, current value is ${factor}`);
  let attempt = 0;
  return {
    nextMs() {
      const waitMs = Math.min(maxMs, initialMs * (1 + factor) ** attempt); // Infinity after many attempts is fine: min() caps it.
      attempt++;
      return jitter ? waitMs * (0.5 + random() / 2) : waitMs;
    },
    reset() {
      attempt = 0;
    },
  };
}
