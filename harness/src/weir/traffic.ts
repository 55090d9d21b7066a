// Steady traffic during a change or a fault, each answer of which is counted: some requests are within their limit
// and some are over it, so that each wrong answer is seen, whichever way it is wrong.
import { setTimeout as delay } from "node:timers/promises";

import { eventually } from "../processes/eventually.ts";

/** Time between two requests of one lane, in milliseconds. */
const PERIOD_MS = 40;

/** Lanes of a load, and the time between two requests of each, in milliseconds. */
const LOAD_LANES = 4;
const LOAD_PERIOD_MS = 10;

/** Requests of a lane that may be waiting; more are not sent, so that a standstill does not become a burst. */
const WAITING_MAX = 200;

/** A user, and the URL that its requests are sent to. */
export interface Target {
  readonly url: string;
  /** The header `x-user`. */
  readonly user: string;
}

export interface Decision {
  readonly code: "allowed" | "limited";
  /** Requests per unit of the limit that was applied; undefined without one, and where the target does not report it. */
  readonly limit?: number | undefined;
}

/** Requests that have one right answer. */
export interface Lane {
  /** Sends one; rejects without a decision. */
  readonly ask: () => Promise<Decision>;
  /** By default both are right. */
  readonly right?: Decision["code"] | undefined;
}

/** The rhythm of each lane. */
export interface Pace {
  readonly periodMs: number;
  /** Requests that may be waiting; with one, answers come in the order of the requests. */
  readonly waitingMax?: number;
}

/** Numbers of requests, and of those without a right answer. */
export interface Losses {
  readonly requests: number;
  /** No answer, or one that is no decision. */
  readonly failed: number;
  readonly wronglyAllowed: number;
  readonly wronglyDenied: number;
  /** Longest time without a right answer in a lane, in milliseconds. */
  readonly longestGapMs: number;
}

/** Begins to send requests through the Envoy at this URL. */
export function startTraffic(
  url: string,
  lanes: readonly { readonly path: string; readonly user: string; readonly right?: 200 | 429 }[],
): Traffic {
  const right = { 200: "allowed", 429: "limited" } as const;
  return new Traffic(
    lanes.map((lane) => ({
      ask: () => askEnvoy({ url: url + lane.path, user: lane.user }),
      right: lane.right && right[lane.right],
    })),
    { periodMs: PERIOD_MS },
  );
}

/** Begins to send many requests, of users whose names begin with `user`. */
export function startLoad({ url, user }: Target): Traffic {
  const lanes = Array.from({ length: LOAD_LANES }, (_, index) => ({
    ask: () => askEnvoy({ url, user: `${user}-${index}` }),
  }));
  return new Traffic(lanes, { periodMs: LOAD_PERIOD_MS });
}

/** Traffic that runs from its construction on. */
export class Traffic {
  readonly #end = new AbortController();
  readonly #lanes: readonly Promise<void>[];
  readonly #failures = new Map<string, number>();
  readonly #limits: string[] = [];
  #answers = 0;
  #losses = nothingLost();

  constructor(lanes: readonly Lane[], pace: Pace) {
    this.#lanes = lanes.map((lane) => this.#send(lane, pace));
  }

  /** Resolves after `count` further answers. */
  async answers(count: number, timeoutMs?: number): Promise<void> {
    const wanted = this.#answers + count;
    const enough = (): void => {
      if (this.#answers < wanted) throw new Error(`${this.#answers} of ${wanted}`);
    };
    await eventually("more answers", enough, timeoutMs);
  }

  /** Returns the losses since the last call. */
  take(): Losses {
    const losses = this.#losses;
    this.#losses = nothingLost();
    return losses;
  }

  /** Ends it after one more request of each lane, and all answers; returns the number of failures of each kind. */
  async stop(): Promise<Readonly<Record<string, number>>> {
    this.#end.abort();
    await Promise.all(this.#lanes);
    return Object.fromEntries(this.#failures);
  }

  /**
   * The same; returns the limits in the answers without repetitions: "2 → 3" is one change, whatever time it took.
   * "none" is a decision without a limit, and a failure is its reason.
   */
  async end(): Promise<string> {
    await this.stop();
    return this.#limits.join(" → ");
  }

  async #send(lane: Lane, { periodMs, waitingMax = WAITING_MAX }: Pace): Promise<void> {
    let lastRightMs = performance.now();
    const waiting = new Set<Promise<void>>();
    const ask = async (): Promise<void> => {
      const answer = await lane.ask().catch((error: unknown) => reasonOf(error));
      if (this.#count(answer, lane)) lastRightMs = performance.now();
    };
    while (!this.#end.signal.aborted) {
      if (waiting.size < waitingMax) {
        const answer: Promise<void> = ask().finally(() => waiting.delete(answer));
        waiting.add(answer);
      }
      await delay(periodMs);
      const gapMs = Math.round(performance.now() - lastRightMs);
      this.#losses.longestGapMs = Math.max(this.#losses.longestGapMs, gapMs);
    }
    await Promise.all(waiting);
    await ask();
  }

  /** Counts an answer, or the reason why there is none; returns whether it is right. */
  #count(answer: Decision | string, { right }: Lane): boolean {
    this.#answers += 1;
    this.#losses.requests += 1;
    const text = typeof answer === "string" ? answer : String(answer.limit ?? "none");
    if (text !== this.#limits.at(-1)) this.#limits.push(text);
    if (typeof answer === "string") {
      this.#losses.failed += 1;
      this.#failures.set(answer, (this.#failures.get(answer) ?? 0) + 1);
      return false;
    }
    if (right === undefined || answer.code === right) return true;
    this.#losses[answer.code === "allowed" ? "wronglyAllowed" : "wronglyDenied"] += 1;
    return false;
  }
}

/** The status of each of `count` requests of one user, one after the other. */
export async function spend(target: Target, count: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (statuses.length < count) statuses.push(await statusOf(target));
  return statuses;
}

async function askEnvoy(target: Target): Promise<Decision> {
  const status = await statusOf(target);
  if (status !== 200 && status !== 429) throw new Error(String(status));
  return { code: status === 200 ? "allowed" : "limited" };
}

/** The status of one complete answer. */
async function statusOf({ url, user }: Target): Promise<number> {
  const response = await fetch(url, { headers: { "x-user": user } });
  await response.arrayBuffer();
  return response.status;
}

/** A failed fetch has its reason in its cause. */
function reasonOf(error: unknown): string {
  return String(error instanceof Error ? (error.cause ?? error) : error);
}

function nothingLost(): { -readonly [field in keyof Losses]: number } {
  return { requests: 0, failed: 0, wronglyAllowed: 0, wronglyDenied: 0, longestGapMs: 0 };
}
