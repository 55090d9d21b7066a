// Logs the problems of all reflectors of a source: a problem that they share is logged once per
// interval, and the end of all problems once. The condition of each reflector has its own problem.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";

import type { ApiFailure } from "../client/api-failure.ts";

/** Shortest time between two lines about the same problem, in milliseconds. */
const INTERVAL_MS = 60_000;

/** Remembers which reflectors have a problem, by the resource that they follow. */
export class ProblemLog {
  readonly #warnings: RateLimitedLog;
  readonly #isServing: () => boolean;
  readonly #failing = new Set<string>();

  /** `isServing` says whether there are objects that remain active. */
  constructor(log: Log, isServing: () => boolean) {
    this.#warnings = new RateLimitedLog(log, { intervalMs: INTERVAL_MS, clock: () => performance.now() });
    this.#isServing = isServing;
  }

  /** Notes the problem of a reflector. */
  failed(resource: string, failure: ApiFailure): void {
    this.#failing.add(resource);
    const consequence = this.#isServing() ? "what was read before stays active" : "nothing is served yet";
    this.#warnings.warn(`Cannot follow the API server, ${consequence}`, { resource, error: failure }, failure.reason);
  }

  /** Notes that the reflector follows; when no other one has a problem, all are over. */
  following(resource: string): void {
    if (!this.#failing.delete(resource) || this.#failing.size > 0) return;
    this.#warnings.recovered("Following the API server again", { resource });
  }
}
