// Steady traffic through Envoy during a change or a fault, each answer of which is counted: some requests are within
// their limit and some are over it, so that each wrong answer is seen, whichever way it is wrong.
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

import { eventually } from "../processes/eventually.ts";

/** Time between two requests of one lane, in milliseconds. */
const PERIOD_MS = 40;

/** Lanes of a load, and the time between two requests of each, in milliseconds. */
const LOAD_LANES = 4;
const LOAD_PERIOD_MS = 10;

/** Requests of a lane that may be waiting; more are not sent, so that a standstill does not become a burst. */
const WAITING_MAX = 200;

/** Where a user sends requests. */
export interface Target {
  readonly url: string;
  /** The header `x-user`. */
  readonly user: string;
}

/** Requests that have one right answer. */
export interface Lane {
  readonly path: string;
  readonly user: string;
  /** By default both are right. */
  readonly right?: 200 | 429;
}

/** What was lost. */
export interface Losses {
  readonly requests: number;
  /** No answer, or one that is no decision. */
  readonly failed: number;
  readonly wronglyAllowed: number;
  readonly wronglyDenied: number;
  /** Longest time without a right answer in a lane, in milliseconds. */
  readonly longestGapMs: number;
}

/** Begins to send requests to the address. */
export function startTraffic(url: string, lanes: readonly Lane[]): Traffic {
  return new Traffic(url, lanes, PERIOD_MS);
}

/** Begins to send many requests, of users whose names begin with `user`. */
export function startLoad({ url, user }: Target): Traffic {
  const lanes = Array.from({ length: LOAD_LANES }, (_, index) => ({ path: "", user: `${user}-${index}` }));
  return new Traffic(url, lanes, LOAD_PERIOD_MS);
}

/** Traffic that runs. */
export class Traffic {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #end = new AbortController();
  readonly #lanes: readonly Promise<void>[];
  readonly #failures = new Map<string, number>();
  #answers = 0;
  #losses = nothingLost();

  constructor(url: string, lanes: readonly Lane[], periodMs: number) {
    this.#lanes = lanes.map((lane) => this.#send(url, lane, periodMs));
  }

  /** Resolves after `count` further answers. */
  async answers(count: number): Promise<void> {
    const wanted = this.#answers + count;
    await eventually("more answers", () => {
      if (this.#answers < wanted) throw new Error(`${this.#answers} of ${wanted}`);
    });
  }

  /** What was lost since the last call. */
  take(): Losses {
    const losses = this.#losses;
    this.#losses = nothingLost();
    return losses;
  }

  /** Ends it, after the answers of the requests that are on the way; returns the number of failures of each kind. */
  async stop(): Promise<Readonly<Record<string, number>>> {
    this.#end.abort();
    await Promise.all(this.#lanes);
    this.#agent.destroy();
    return Object.fromEntries(this.#failures);
  }

  async #send(url: string, lane: Lane, periodMs: number): Promise<void> {
    let lastRightMs = performance.now();
    const waiting = new Set<Promise<void>>();
    while (!this.#end.signal.aborted) {
      if (waiting.size < WAITING_MAX) {
        const answer = this.#ask(url, lane).then((result) => {
          if (this.#count(result, lane)) lastRightMs = performance.now();
        });
        waiting.add(answer);
        void answer.then(() => waiting.delete(answer));
      }
      await delay(periodMs);
      const gapMs = Math.round(performance.now() - lastRightMs);
      this.#losses.longestGapMs = Math.max(this.#losses.longestGapMs, gapMs);
    }
    await Promise.all(waiting);
  }

  /** Counts an answer; returns whether it is right. */
  #count(result: number | string, { right }: Lane): boolean {
    this.#answers += 1;
    this.#losses.requests += 1;
    if (result !== 200 && result !== 429) {
      this.#losses.failed += 1;
      this.#failures.set(String(result), (this.#failures.get(String(result)) ?? 0) + 1);
      return false;
    }
    if (right === undefined || result === right) return true;
    this.#losses[result === 200 ? "wronglyAllowed" : "wronglyDenied"] += 1;
    return false;
  }

  /** The status of one request, or why it has none. Never rejects. */
  #ask(url: string, { path, user }: Lane): Promise<number | string> {
    return new Promise((resolve) => {
      const call = request(url + path, { agent: this.#agent, headers: { "x-user": user } }, (response) => {
        response.resume();
        response.on("close", () => resolve(response.complete ? (response.statusCode ?? 0) : "incomplete response"));
      });
      call.on("error", (error) => resolve(String(error)));
      call.end();
    });
  }
}

/** The status of each of `count` requests of one user, one after the other. */
export async function spend({ url, user }: Target, count: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (statuses.length < count) {
    const response = await fetch(url, { headers: { "x-user": user } });
    await response.body?.cancel();
    statuses.push(response.status);
  }
  return statuses;
}

function nothingLost(): { -readonly [field in keyof Losses]: number } {
  return { requests: 0, failed: 0, wronglyAllowed: 0, wronglyDenied: 0, longestGapMs: 0 };
}
