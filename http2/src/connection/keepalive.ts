// Decides about a connection by time: whether it is alive, unused, stalled or old.
import type { Http2Counters } from "../limits/counters.ts";
import type { Http2Limits } from "../limits/limits.ts";

/** The facts about a connection when it is looked at. All numbers but `partialBytes` only grow. */
export interface ConnectionFacts {
  /** True if the client has sent its preface and SETTINGS. */
  readonly hasSettings: boolean;
  /** The highest stream identifier of the client; 0 before the first. */
  readonly lastId: number;
  readonly reads: number;
  /** False while reading is paused: until the client takes its answers. */
  readonly isReading: boolean;
  /** Reads that completed a frame, and bytes of one that is not complete. */
  readonly framesRead: number;
  readonly partialBytes: number;
  /** True if output is not sent; and the number of times that some was. */
  readonly isUnsent: boolean;
  readonly sends: number;
}

/** The action to take on a connection; "drain" is a graceful close. */
export type KeepaliveAction = "nothing" | "ping" | "drain" | "destroy";

/** Measures how long a number has not grown. */
class Progress {
  #seen = -1;
  #sinceMs = 0;

  /** Milliseconds since `progress` grew. */
  quietMs(progress: number, nowMs: number): number {
    if (progress !== this.#seen) {
      this.#seen = progress;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs;
  }
}

/** The clocks of one connection. */
export class Keepalive {
  readonly #limits: Http2Limits;
  readonly #counters: Http2Counters;
  readonly #startedMs: number;
  readonly #maxAgeMs: number;
  readonly #reads = new Progress();
  readonly #frames = new Progress();
  readonly #sends = new Progress();
  #pingedAtReads = -1;
  #drainedMs: number | undefined;

  /** `maxAgeMs` is the age at which the connection is closed gracefully. */
  constructor(limits: Http2Limits, counters: Http2Counters, startedMs: number, maxAgeMs: number) {
    this.#limits = limits;
    this.#counters = counters;
    this.#startedMs = startedMs;
    this.#maxAgeMs = maxAgeMs;
  }

  /** Decides. A connection that is drained already is not drained again. */
  check(nowMs: number, facts: ConnectionFacts): KeepaliveAction {
    return this.#checkDead(nowMs, facts) ?? this.#checkDrain(nowMs, facts) ?? this.#checkAlive(nowMs, facts);
  }

  /** A connection that cannot be served any more. */
  #checkDead(nowMs: number, facts: ConnectionFacts): KeepaliveAction | undefined {
    const { prefaceTimeoutMs, stallTimeoutMs, connectionAgeGraceMs } = this.#limits;
    if (!facts.hasSettings && nowMs - this.#startedMs >= prefaceTimeoutMs) return this.#destroy("prefaceTimeouts");
    const framesMs = this.#frames.quietMs(facts.partialBytes > 0 ? facts.framesRead : -nowMs, nowMs);
    const sendsMs = this.#sends.quietMs(facts.isUnsent ? facts.sends : -nowMs, nowMs);
    if (framesMs >= stallTimeoutMs || sendsMs >= stallTimeoutMs) return this.#destroy("connectionStalls");
    if (this.#drainedMs !== undefined && nowMs - this.#drainedMs >= connectionAgeGraceMs) return "destroy";
    return undefined;
  }

  #checkDrain(nowMs: number, { hasSettings, lastId }: ConnectionFacts): KeepaliveAction | undefined {
    if (this.#drainedMs !== undefined || !hasSettings) return undefined;
    const { firstRequestTimeoutMs, streamIdMax } = this.#limits;
    const ageMs = nowMs - this.#startedMs;
    if (ageMs >= this.#maxAgeMs) return this.#drain(nowMs, "ageCloses");
    if (lastId >= streamIdMax) return this.#drain(nowMs, "streamIdCloses");
    if (lastId === 0 && ageMs >= firstRequestTimeoutMs) return this.#drain(nowMs, "idleCloses");
    return undefined;
  }

  #checkAlive(nowMs: number, { reads, isReading, hasSettings }: ConnectionFacts): KeepaliveAction {
    const { keepAliveIntervalMs, keepAliveTimeoutMs } = this.#limits;
    const quietMs = this.#reads.quietMs(isReading ? reads : -nowMs, nowMs);
    if (!hasSettings || quietMs < keepAliveIntervalMs) return "nothing";
    if (this.#pingedAtReads !== reads) {
      this.#pingedAtReads = reads;
      return "ping";
    }
    return quietMs >= keepAliveIntervalMs + keepAliveTimeoutMs ? this.#destroy("keepAliveTimeouts") : "nothing";
  }

  #drain(nowMs: number, counter: "ageCloses" | "streamIdCloses" | "idleCloses"): KeepaliveAction {
    this.#drainedMs = nowMs;
    this.#counters[counter] += 1;
    return "drain";
  }

  #destroy(counter: "prefaceTimeouts" | "connectionStalls" | "keepAliveTimeouts"): KeepaliveAction {
    this.#counters[counter] += 1;
    return "destroy";
  }
}
