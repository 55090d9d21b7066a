// Fails calls at once while what they ask does not answer, so that they neither wait nor add load.

/** When the breaker opens, and for how long. */
export interface CircuitBreakerOptions {
  /** Failures in a row after which it opens. */
  readonly failuresMax: number;
  /** How long it then admits nothing, in milliseconds. */
  readonly openMs: number;
}

/**
 * Admits calls until `failuresMax` of them have failed in a row, then none for `openMs`, then one at
 * a time until one succeeds.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #nowMs: () => number;
  #failures = 0;
  #failedAtMs = 0;
  #isProbing = false;

  /** `nowMs` is a clock that only goes forward. */
  constructor(nowMs: () => number, options: CircuitBreakerOptions) {
    this.#nowMs = nowMs;
    this.#options = options;
  }

  /** Whether a call may be made now; report its end with `succeeded` or `failed`. */
  admits(): boolean {
    const { failuresMax, openMs } = this.#options;
    if (this.#failures < failuresMax) return true;
    if (this.#isProbing || this.#nowMs() - this.#failedAtMs < openMs) return false;
    this.#isProbing = true;
    return true;
  }

  /** A call was answered. */
  succeeded(): void {
    this.#failures = 0;
    this.#isProbing = false;
  }

  /** A call was not answered. */
  failed(): void {
    this.#failures += 1;
    this.#failedAtMs = this.#nowMs();
    this.#isProbing = false;
  }
}
