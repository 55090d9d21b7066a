// Questions that a real pod is asked all the time while something happens to what it depends on:
// each answer is kept, so that a moment without a limit is seen.
import { setTimeout as delay } from "node:timers/promises";
import type { Pod } from "./flow.ts";

/** Time between two questions, in milliseconds. */
const PAUSE_MS = 20;

/** Questions under way. */
export interface Questions {
  /**
   * Ends them; resolves with the limits that were answered, without repetitions: "2 → 3" is one
   * change, whatever time it took. "none" is an answer without a limit.
   */
  end(): Promise<string>;
}

/** Begins to ask the pod about one user of a domain. */
export function keepAsking(pod: Pod, domain: string): Questions {
  const changes: string[] = [];
  const end = new AbortController();
  const isOver = (): boolean => end.signal.aborted;
  const ended = (async () => {
    for (let isLast = false; !isLast;) {
      isLast = isOver(); // One more question after the end was asked for.
      const answer = await pod.limitOf(domain, { user: "always" }).then(
        (limit) => String(limit ?? "none"),
        (error: unknown) => String(error),
      );
      if (answer !== changes.at(-1)) changes.push(answer);
      if (!isLast) await delay(PAUSE_MS);
    }
  })();
  return {
    end: async () => {
      end.abort();
      await ended;
      return changes.join(" → ");
    },
  };
}
