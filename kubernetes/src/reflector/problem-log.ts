// Logs the problems of all reflectors of a source: a problem that they share is logged once per
// interval, its end once for each of them. The condition of each reflector has its own problem.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";

import type { ApiFailure } from "../client/api-failure.ts";
import type { SlowRequest } from "../client/slow-timer.ts";

/** Shortest time between two lines about the same problem, in milliseconds. */
const INTERVAL_MS = 60_000;

/** Remembers which reflectors have a problem, by the resource that they follow. */
export class ProblemLog {
  readonly #log: Log;
  readonly #warnings: RateLimitedLog;
  readonly #isServing: () => boolean;
  /** The last problem of each reflector that has one. */
  readonly #failing = new Map<string, string>();
  /** Reflectors with a request that was slow since they last followed the server. */
  readonly #slow = new Set<string>();

  /** `isServing` says whether there are objects that remain active. */
  constructor(log: Log, isServing: () => boolean) {
    this.#log = log;
    this.#warnings = new RateLimitedLog(log, { intervalMs: INTERVAL_MS });
    this.#isServing = isServing;
  }

  /** Notes the problem of a reflector. */
  failed(resource: string, failure: ApiFailure): void {
    this.#failing.set(resource, failure.reason);
    const consequence = this.#isServing() ? "what was read before stays active" : "nothing is served yet";
    this.#warnings.warn(`Cannot follow the API server, ${consequence}`, { resource, error: failure }, failure.reason);
  }

  /** Notes that a request of a reflector has no answer yet. */
  slow(resource: string, { server, waitsFor, waitedMs }: SlowRequest): void {
    if (this.#slow.size === 0)
      this.#log.warn("The API server does not answer, still waiting", { server, waitsFor, waitedMs });
    this.#slow.add(resource);
  }

  /** Notes that the reflector follows. At the level of the problem, so that both are in a log or none. */
  following(resource: string): void {
    const reason = this.#failing.get(resource);
    const wasSlow = this.#slow.delete(resource);
    if (reason === undefined && !wasSlow) return;
    this.#failing.delete(resource);
    if (this.#failing.size === 0) this.#warnings.clear();
    else if (reason !== undefined && ![...this.#failing.values()].includes(reason)) this.#warnings.clear(reason);
    this.#log.warn("Following the API server again", { resource });
  }
}
