// Watches over one request: notices that nothing was heard of the other side for too long. What to
// do then is for whoever set it.

/** Calls when nothing was heard for too long. */
export class Watchdog {
  /** What it called with, once it has. */
  silence: Error | undefined;
  #timeoutMs: number;
  #timer: NodeJS.Timeout;
  #call: (error: Error) => void = () => undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#timer = this.#start();
  }

  /** Sets what it calls. */
  onSilence(call: (error: Error) => void): void {
    this.#call = call;
  }

  /** Something was heard: the time begins anew. */
  heard(): void {
    this.#timer.refresh();
  }

  /** Begins anew with another patience, in milliseconds. */
  guard(timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timeoutMs = timeoutMs;
    this.#timer = this.#start();
  }

  /** Ends it; it calls no more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #start(): NodeJS.Timeout {
    return setTimeout(() => {
      this.silence = new Error(`nothing was heard for ${this.#timeoutMs / 1000} s`);
      this.#call(this.silence);
    }, this.#timeoutMs);
  }
}
