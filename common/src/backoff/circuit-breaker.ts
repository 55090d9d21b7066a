// Keeps calls from a server that does not answer: after some failures in a row, calls are skipped for a
// while, and then one is let through to try.

/** Bounds of a breaker. */
export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failuresMax: number;
  /** How long calls are skipped, in milliseconds. */
  readonly openMs: number;
}

type State =
  | { readonly kind: "closed"; readonly failures: number }
  | { readonly kind: "open"; readonly sinceMs: number }
  /** One call is on its way; its result decides. */
  | { readonly kind: "trying" };

/** The breaker of one server. */
export class CircuitBreaker {
  readonly #monotonicMs: () => number;
  readonly #options: BreakerOptions;
  #state: State = { kind: "closed", failures: 0 };

  /** `monotonicMs`: milliseconds by a clock that only goes forward. */
  constructor({ monotonicMs }: { readonly monotonicMs: () => number }, options: BreakerOptions) {
    this.#monotonicMs = monotonicMs;
    this.#options = options;
  }

  /**
   * Returns true if the caller may call the server; it must then report the result. When the time of
   * skipping has passed, this is true for one caller only.
   */
  mayCall(): boolean {
    if (this.#state.kind === "closed") return true;
    if (this.#state.kind === "trying") return false;
    if (this.#monotonicMs() - this.#state.sinceMs < this.#options.openMs) return false;
    this.#state = { kind: "trying" };
    return true;
  }

  /** Returns true while calls are skipped, or one is on its way to try. */
  isOpen(): boolean {
    return this.#state.kind !== "closed";
  }

  /** Reports an answer. */
  succeeded(): void {
    this.#state = { kind: "closed", failures: 0 };
  }

  /** Reports a failure; true when calls are skipped because of it. */
  failed(): boolean {
    if (this.#state.kind === "open") return false; // A call that started before.
    const failures = this.#state.kind === "trying" ? this.#options.failuresMax : this.#state.failures + 1;
    if (failures < this.#options.failuresMax) {
      this.#state = { kind: "closed", failures };
      return false;
    }
    this.#state = { kind: "open", sinceMs: this.#monotonicMs() };
    return true;
  }
}
