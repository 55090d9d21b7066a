// Tracks the availability of a server: a connection works, there is none for a moment or for long, or
// the server is silent. Logs the changes, and decides which calls fail immediately.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { reasonOf, type StoreError } from "../../store-error.ts";
import type { PoolStatistics } from "../connection/pool-statistics.ts";
import { type ProbeKey, SilenceProbe, type SilenceProbeDeps } from "../connection/silence-probe.ts";
import { connectionError } from "../store-errors.ts";

/**
 * Shortest time between two warnings that a connection failed for the same reason, in milliseconds:
 * a server may be away for long, and a pool has many connections.
 */
const WARNING_INTERVAL_MS = 10_000;

/** The dependencies of an Availability; `answered` is called when a silent server has answered a probe. */
export interface AvailabilityDeps extends SilenceProbeDeps {
  readonly log: Log;
  readonly statistics: PoolStatistics;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** The availability of one server; there is no connection at first. */
export class Availability {
  readonly #deps: AvailabilityDeps;
  readonly #timeoutMs: number;
  readonly #warnings: RateLimitedLog;
  readonly #probe: SilenceProbe;
  /** When the last connection was lost, and why; undefined while one is ready. */
  #down: { readonly sinceMs: number; readonly cause: unknown } | undefined;
  /**
   * The error of calls from the moment when a time limit has passed without any reply, until one comes,
   * to a probe or to a call. One for all: making errors would cost more than counting.
   */
  #silence: StoreError | undefined;
  /** The error that `error` has made for the cause of `#down`. */
  #absence: StoreError | undefined;

  /** `timeoutMs` is how long a call may take. */
  constructor(deps: AvailabilityDeps, { timeoutMs }: { readonly timeoutMs: number }) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
    this.#warnings = new RateLimitedLog(deps.log, { intervalMs: WARNING_INTERVAL_MS, monotonicMs: deps.monotonicMs });
    this.#setDown({ sinceMs: -Infinity, cause: new Error("not connected yet") });
    this.#probe = new SilenceProbe({ ...deps, answered: () => this.#answered() }, { timeoutMs });
  }

  /** Why no connection is ready. */
  get error(): StoreError {
    return (this.#absence ??= connectionError(this.#text, this.#down?.cause));
  }

  /**
   * Why a call cannot even wait: the server is silent, or has been away for longer than the time
   * limit of a call. During a short absence calls wait for the connection as long as they would for
   * an answer.
   */
  refusal(nowMs: number): StoreError | undefined {
    if (this.#silence !== undefined) {
      this.#deps.statistics.failedFast();
      return this.#silence;
    }
    return this.#down !== undefined && nowMs - this.#down.sinceMs >= this.#timeoutMs ? this.error : undefined;
  }

  /** The first connections are being made: calls wait for them from now on. */
  opening(): void {
    if (this.#down?.sinceMs === -Infinity) this.#restartWait(this.#down.cause);
  }

  /** A connection is ready; returns true when there was none before. */
  ready(): boolean {
    const wasDown = this.#down !== undefined;
    if (wasDown) this.#deps.log.info("Connected to the counter store", { address: this.#text });
    this.#setDown(undefined);
    return wasDown;
  }

  /** The last connection that worked was lost. */
  lost(cause: unknown): void {
    this.#restartWait(cause);
    this.#deps.log.warn("Lost the connection to the counter store", { address: this.#text, error: reasonOf(cause) });
  }

  /** A connection could not be made. */
  failed(cause: unknown): void {
    if (this.#down === undefined) return; // The other connections work.
    this.#setDown({ sinceMs: this.#down.sinceMs, cause });
    const reason = reasonOf(cause);
    this.#warnings.warn("Cannot reach the counter store, trying again", { address: this.#text, error: reason }, reason);
  }

  /** A connection with changed credentials or certificates could not be made; those so far work. */
  replacementFailed(cause: unknown): void {
    const error = reasonOf(cause);
    const message = "Cannot connect to the counter store with the changed credentials, keeping the connections";
    this.#warnings.warn(message, { address: this.#text, error }, error);
  }

  /** No reply has come on any connection for the time limit; calls counted the key meanwhile. */
  silent(key: ProbeKey): void {
    if (this.#silence !== undefined) return;
    const reason = new Error(`no answer for ${this.#timeoutMs} ms, asking every 100 ms`);
    this.#silence = connectionError(this.#text, reason);
    this.#deps.log.warn("The counter store is silent, failing calls immediately", {
      address: this.#text,
      timeoutMs: this.#timeoutMs,
    });
    this.#probe.start(key);
  }

  /** A reply to a command of calls or of the probe has come: the server is not silent. */
  replied(): void {
    if (this.#silence === undefined) return;
    this.moved();
    this.#deps.log.info("The counter store answers again", { address: this.#text });
  }

  /** The server is another one from now on, about which nothing is known. */
  moved(): void {
    this.#silence = undefined;
    this.#absence = undefined;
    this.#probe.stop();
  }

  /** No connection is made any more. */
  closed(cause: unknown): void {
    this.moved();
    this.#setDown({ sinceMs: -Infinity, cause });
  }

  get #text(): string {
    return this.#deps.target().text;
  }

  #answered(): void {
    this.replied();
    if (this.#down !== undefined) this.#restartWait(this.#down.cause);
    this.#deps.answered();
  }

  #restartWait(cause: unknown): void {
    this.#setDown({ sinceMs: this.#deps.monotonicMs(), cause });
  }

  #setDown(down: { readonly sinceMs: number; readonly cause: unknown } | undefined): void {
    this.#down = down;
    this.#absence = undefined;
  }
}
