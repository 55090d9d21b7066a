// Decides whether the service gets traffic: its store answers, and it does not stop.

/** How long an answer of the store is reused, in milliseconds: many balancers probe. */
const PING_VALID_MS = 1000;

/** The state for probes. */
export class Health {
  readonly #deps: { readonly ping: () => Promise<void>; readonly nowMs: () => number };
  #isDraining = false;
  #last: { readonly atMs: number; readonly answer: Promise<boolean> } | undefined;

  /** Asks `ping`, which rejects while the store does not answer. */
  constructor(deps: { readonly ping: () => Promise<void>; readonly nowMs: () => number }) {
    this.#deps = deps;
  }

  /**
   * False while the store does not answer, and from `drain` on; an answer of the store is
   * reused for a second.
   */
  async isReady(): Promise<boolean> {
    const { ping, nowMs } = this.#deps;
    const atMs = nowMs();
    if (this.#last === undefined || atMs - this.#last.atMs >= PING_VALID_MS) {
      const answer = ping().then(
        () => true,
        () => false,
      );
      this.#last = { atMs, answer };
    }
    return !this.#isDraining && (await this.#last.answer);
  }

  /** True from `drain` on: answers then end their connections. */
  isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on the service is not ready. */
  drain(): void {
    this.#isDraining = true;
  }
}
