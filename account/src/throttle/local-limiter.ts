// Applies the limits in this process, in fixed windows, with bounded memory: for a process without a
// rate limit service, and while the service does not answer.
import { type Limit, type LimitCheck, type LimitDecision, type LimitKey, type Limits, LIMITS } from "./limits.ts";

/**
 * Values that are counted for one limit, about 2 MiB. When there are more in a window, of those that
 * were counted first the one with the fewest requests is forgotten.
 */
const VALUES_MAX = 20_000;

/** From how many of the values that were counted first the forgotten one is chosen. */
const EVICTION_CANDIDATES = 8;

/** The count of one value; `windowStart` in seconds since the epoch. */
interface Count {
  readonly windowStart: number;
  requests: number;
}

/** Counts per limit and value. */
export class LocalLimiter {
  readonly #clock: () => number;
  readonly #limits: Limits;
  readonly #valuesMax: number;
  /** By route and key; each in the order of the first request in the window. */
  readonly #counts = new Map<string, Map<string, Count>>();

  constructor({ clock }: { readonly clock: () => number }, { valuesMax = VALUES_MAX, limits = LIMITS } = {}) {
    this.#clock = clock;
    this.#limits = limits;
    this.#valuesMax = valuesMax;
  }

  /**
   * Counts the request, unless one of its limits is reached: then nothing is counted, so that a refused
   * guess does not use up what the account has left.
   */
  decide({ route, entries }: LimitCheck): LimitDecision {
    const nowSeconds = this.#clock() / 1000;
    const counts: Count[] = [];
    for (const { key, value } of entries) {
      const limit = this.#limits[route][key];
      if (limit === undefined) continue;
      const count = this.#countOf(`${route}|${key}`, value, limit, nowSeconds);
      if (count.requests >= limit.requests) return denied(key, count.windowStart + limit.windowSeconds - nowSeconds);
      counts.push(count);
    }
    for (const count of counts) count.requests += 1;
    return { isAllowed: true, headers: [] };
  }

  #countOf(name: string, value: string, limit: Limit, nowSeconds: number): Count {
    const windowStart = Math.floor(nowSeconds / limit.windowSeconds) * limit.windowSeconds;
    const counts = this.#counts.getOrInsertComputed(name, () => new Map<string, Count>());
    const known = counts.get(value);
    if (known?.windowStart === windowStart) return known;
    counts.delete(value); // So that it is last in the order.
    for (const [oldest, { windowStart: start }] of counts) {
      if (start === windowStart) break;
      counts.delete(oldest);
    }
    if (counts.size >= this.#valuesMax) forgetOne(counts);
    const count = { windowStart, requests: 0 };
    counts.set(value, count);
    return count;
  }
}

/**
 * Forgets the value with the fewest requests of those that were counted first: a value that has used
 * its limit up is not reset by many others that are new.
 */
function forgetOne(counts: Map<string, Count>): void {
  let fewest: readonly [value: string, requests: number] | undefined;
  for (const [value, { requests }] of counts.entries().take(EVICTION_CANDIDATES))
    if (fewest === undefined || requests < fewest[1]) fewest = [value, requests];
  if (fewest !== undefined) counts.delete(fewest[0]);
}

function denied(key: LimitKey, secondsLeft: number): LimitDecision {
  return { isAllowed: false, key, retryAfterSeconds: Math.max(1, Math.ceil(secondsLeft)), headers: [] };
}
