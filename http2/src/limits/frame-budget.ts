// Counts the frames with which a client could make the server work for nothing. Good clients stay
// far below; a connection that exceeds a bound is closed with ENHANCE_YOUR_CALM.
import { ConnectionError, ErrorCode } from "../frames/frame.ts";
import type { Http2Counters } from "./counters.ts";
import type { Http2Limits } from "./limits.ts";

/** The frames of one connection in the current window of time. */
export class FrameBudget {
  readonly #limits: Http2Limits;
  readonly #counters: Http2Counters;
  #controlFrames = 0;
  #clientResets = 0;
  #streamErrors = 0;
  #windowStartMs = 0;

  constructor(limits: Http2Limits, counters: Http2Counters) {
    this.#limits = limits;
    this.#counters = counters;
  }

  /** Begins a new window when the current one is over. */
  tick(nowMs: number): void {
    if (nowMs - this.#windowStartMs < this.#limits.frameWindowMs) return;
    this.#windowStartMs = nowMs;
    this.#controlFrames = 0;
    this.#clientResets = 0;
    this.#streamErrors = 0;
  }

  /** An answer was sent: clients send WINDOW_UPDATE and PING for those, and reset other calls. */
  earn(): void {
    this.#controlFrames -= this.#limits.controlFramesPerAnswer;
    this.#clientResets -= 1;
  }

  /** A frame that carries no call. Throws a ConnectionError when there are too many. */
  spendControlFrame(): void {
    this.#controlFrames += 1;
    if (this.#controlFrames > this.#limits.controlFramesMax) this.#end("controlFrameFloods", "control frames");
  }

  /** The client has reset a stream (CVE-2023-44487). Throws a ConnectionError when there are too many. */
  spendClientReset(): void {
    this.#clientResets += 1;
    this.#counters.clientResets += 1;
    if (this.#clientResets > this.#limits.clientResetsMax) this.#end("resetFloods", "resets");
  }

  /**
   * The client has made the server reset a stream (CVE-2025-8671). Throws a ConnectionError when there
   * are too many.
   */
  spendStreamError(): void {
    this.#streamErrors += 1;
    this.#counters.streamErrors += 1;
    if (this.#streamErrors > this.#limits.streamErrorsMax) this.#end("streamErrorFloods", "faulty streams");
  }

  #end(counter: "controlFrameFloods" | "resetFloods" | "streamErrorFloods", what: string): never {
    this.#counters[counter] += 1;
    throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `Too many ${what}`);
  }
}
