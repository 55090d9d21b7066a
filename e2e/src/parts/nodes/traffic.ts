// Steady traffic through Envoy during a fault: some requests that are within their limit and some that are over it,
// so that each wrong answer is seen, whichever way it is wrong.
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** Time between two requests of one lane, in milliseconds. */
const PERIOD_MS = 40;

/** Requests of a lane that may be waiting; more are not sent, so that a standstill does not become a burst. */
const WAITING_MAX = 200;

/** Requests that have one right answer. */
export interface Lane {
  readonly path: string;
  readonly user: string;
  readonly right: 200 | 429;
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
  return new Traffic(url, lanes);
}

/** Traffic that runs. */
export class Traffic {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #end = new AbortController();
  readonly #lanes: readonly Promise<void>[];
  #losses = nothingLost();

  constructor(url: string, lanes: readonly Lane[]) {
    this.#lanes = lanes.map((lane) => this.#send(url, lane));
  }

  /** What was lost since the last call. */
  take(): Losses {
    const losses = this.#losses;
    this.#losses = nothingLost();
    return losses;
  }

  /** Ends it, after the answers of the requests that are on the way. */
  async stop(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#lanes);
    this.#agent.destroy();
  }

  async #send(url: string, lane: Lane): Promise<void> {
    let lastRightMs = performance.now();
    const waiting = new Set<Promise<void>>();
    while (!this.#end.signal.aborted) {
      if (waiting.size < WAITING_MAX) {
        const answer = this.#ask(url, lane).then((status) => {
          this.#losses.requests += 1;
          if (status === lane.right) lastRightMs = performance.now();
          else if (status === 200) this.#losses.wronglyAllowed += 1;
          else if (status === 429) this.#losses.wronglyDenied += 1;
          else this.#losses.failed += 1;
        });
        waiting.add(answer);
        void answer.then(() => waiting.delete(answer));
      }
      await delay(PERIOD_MS);
      const gapMs = Math.round(performance.now() - lastRightMs);
      this.#losses.longestGapMs = Math.max(this.#losses.longestGapMs, gapMs);
    }
    await Promise.all(waiting);
  }

  /** The status of one request; 0 without an answer. Never rejects. */
  #ask(url: string, { path, user }: Lane): Promise<number> {
    return new Promise((resolve) => {
      const call = request(url + path, { agent: this.#agent, headers: { "x-user": user } }, (response) => {
        response.resume();
        response.on("close", () => resolve(response.complete ? (response.statusCode ?? 0) : 0));
      });
      call.on("error", () => resolve(0));
      call.end();
    });
  }
}

function nothingLost(): { -readonly [field in keyof Losses]: number } {
  return { requests: 0, failed: 0, wronglyAllowed: 0, wronglyDenied: 0, longestGapMs: 0 };
}
