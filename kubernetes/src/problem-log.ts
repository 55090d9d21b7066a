// What the log is told of the problems of all reflectors of a source: what keeps all of them is
// told once, and once that it is over. How a single reflector gets on is in its condition.
import type { Log } from "@weir/common/log/log";

import type { ApiFailure } from "./api-failure.ts";

/** Collects the problems of reflectors, which are known by what they follow. */
export interface ProblemLog {
  /** This keeps the reflector now, whatever did before. */
  failed(resource: string, failure: ApiFailure): void;
  /** The reflector follows; if nobody else has its problem, that is over. */
  following(resource: string): void;
}

/**
 * Makes an empty collection. `isServing` tells whether there is anything that can stay in force.
 */
export function createProblemLog({
  log,
  isServing,
}: {
  readonly log: Log;
  readonly isServing: () => boolean;
}): ProblemLog {
  const reasons = new Map<string, string>();
  const has = (reason: string): boolean => [...reasons.values()].includes(reason);
  return {
    failed: (resource, failure) => {
      const isTold = has(failure.reason);
      reasons.set(resource, failure.reason);
      if (isTold) return;
      const consequence = isServing() ? "what was read before stays in force" : "nothing is served yet";
      log.warn(`Cannot follow the API server, ${consequence}`, { resource, error: failure });
    },
    following: (resource) => {
      const reason = reasons.get(resource);
      if (reason === undefined) return;
      reasons.delete(resource);
      if (!has(reason)) log.info("Following the API server again", { resource });
    },
  };
}
