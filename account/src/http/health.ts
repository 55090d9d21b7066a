// Decides whether the service gets traffic: its store answers, and it does not stop.
import { describeError } from "@weir/common/errors/service-error";

/** How long an answer of the store is reused, in milliseconds: many balancers probe. */
const PING_VALID_MS = 1000;

export interface HealthDeps {
  /** Rejects while the store does not work. */
  readonly ping: () => Promise<void>;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** The state for probes. */
export class Health {
  readonly #deps: HealthDeps;
  #isDraining = false;
  #last: { readonly atMs: number; readonly answer: Promise<void> } | undefined;
  /** Why the store did not answer the last time; undefined when it did. */
  #storeFault: string | undefined;

  constructor(deps: HealthDeps) {
    this.#deps = deps;
  }

  /**
   * False while the store does not answer, and from `drain` on; an answer of the store is
   * reused for a second.
   */
  async isReady(): Promise<boolean> {
    const atMs = this.#deps.monotonicMs();
    if (this.#last === undefined || atMs - this.#last.atMs >= PING_VALID_MS)
      this.#last = { atMs, answer: this.#askStore() };
    await this.#last.answer;
    return !this.#isDraining && this.#storeFault === undefined;
  }

  /** Why the service was not ready the last time, for operators; empty when it was. */
  reason(): string {
    return this.#isDraining ? "the service stops" : (this.#storeFault ?? "");
  }

  /** True from `drain` on: answers then end their connections. */
  isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on the service is not ready. */
  drain(): void {
    this.#isDraining = true;
  }

  async #askStore(): Promise<void> {
    this.#storeFault = await this.#deps.ping().then(
      () => undefined,
      (error: unknown) => describeError(error instanceof Error ? (error.cause ?? error) : error),
    );
  }
}
