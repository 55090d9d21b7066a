// Continuous traffic through a proxy during a change, with a count of every answer, so that a test
// notices a single failed request.
import { setTimeout as delay } from "node:timers/promises";

/** Requests that are under way at a time. */
const CALLERS = 4;

/** Time between two requests of a caller, in milliseconds. */
const PAUSE_MS = 5;

/** What the callers send. */
export interface TrafficOptions {
  readonly url: string;
  /** The header `x-user` begins with it; each caller has a name of its own. */
  readonly user: string;
}

/** Requests without a pause, until they are ended. */
export class Traffic {
  readonly #end = new AbortController();
  readonly #answers = new Map<string, number>();
  readonly #ended: Promise<unknown>;

  constructor(options: TrafficOptions) {
    const callers = Array.from({ length: CALLERS }, (_, index) =>
      this.#call({ ...options, user: `${options.user}-${index}` }),
    );
    this.#ended = Promise.all(callers);
  }

  /** Answers so far. */
  answers(): number {
    return [...this.#answers.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Ends it; resolves with the number of each status, or of each error by its text. */
  async end(): Promise<Readonly<Record<string, number>>> {
    this.#end.abort();
    await this.#ended;
    return Object.fromEntries(this.#answers);
  }

  async #call(options: TrafficOptions): Promise<void> {
    while (!this.#end.signal.aborted) {
      const answer = String(await statusOf(options).catch(String));
      this.#answers.set(answer, (this.#answers.get(answer) ?? 0) + 1);
      await delay(PAUSE_MS);
    }
  }
}

/** The status of each of `count` requests of one user, one after the other. */
export async function spend(options: TrafficOptions, count: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (statuses.length < count) statuses.push(await statusOf(options));
  return statuses;
}

async function statusOf({ url, user }: TrafficOptions): Promise<number> {
  const response = await fetch(url, { headers: { "x-user": user } });
  await response.body?.cancel();
  return response.status;
}
