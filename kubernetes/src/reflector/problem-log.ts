// Logs the problems of all reflectors of a source: a problem that they share is logged once, and once
// when it is over. The condition of each reflector has its own problem.
import type { Log } from "@weir/common/log/log";

import type { ApiFailure } from "../client/api-failure.ts";

/** Remembers the problem of each reflector, by the resource that it follows. */
export class ProblemLog {
  readonly #log: Log;
  readonly #isServing: () => boolean;
  /** The reason of the failure by resource. */
  readonly #reasons = new Map<string, string>();

  /** `isServing` says whether there are objects that remain active. */
  constructor(log: Log, isServing: () => boolean) {
    this.#log = log;
    this.#isServing = isServing;
  }

  /** Notes the problem of a reflector, whatever the one before was. */
  failed(resource: string, failure: ApiFailure): void {
    const isLogged = this.#has(failure.reason);
    this.#reasons.set(resource, failure.reason);
    if (isLogged) return;
    const consequence = this.#isServing() ? "what was read before stays active" : "nothing is served yet";
    this.#log.warn(`Cannot follow the API server, ${consequence}`, { resource, error: failure });
  }

  /** Notes that the reflector follows; when no other one has its problem, that is over. */
  following(resource: string): void {
    const reason = this.#reasons.get(resource);
    if (reason === undefined) return;
    this.#reasons.delete(resource);
    if (!this.#has(reason)) this.#log.info("Following the API server again", { resource });
  }

  #has(reason: string): boolean {
    return [...this.#reasons.values()].includes(reason);
  }
}
