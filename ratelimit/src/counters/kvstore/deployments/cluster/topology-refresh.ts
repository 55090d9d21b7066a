// When the topology is asked for: regularly, soon after something has changed, and never more often
// than a cluster bears from each of its clients. One question is under way at a time.
import type { Backoff } from "@weir/common/backoff/backoff";

/** Wait between two questions while all is well, in milliseconds: the field's. */
const REGULAR_MS = 5_000;

/** The same while a node is away or slots have none. */
const TROUBLED_MS = 1_000;

/** Shortest wait between an answer and the next question, whatever happens. */
const SOON_MS = 250;

/** Part of a regular wait that is drawn at random, so that clients do not ask in step. */
const JITTER = 0.2;

/** What it works with. */
export interface TopologyRefreshDeps {
  /** Asks and puts the answer to use. Must not fail; true when there was an answer. */
  readonly refresh: () => Promise<boolean>;
  /** Whether a node that is needed is away, or slots have no node. */
  readonly isTroubled: () => boolean;
  /** Waits between questions until the first answer. */
  readonly startBackoff: Backoff;
  readonly random: () => number;
}

type State = "idle" | "asking" | "closed";

/** The schedule. */
export class TopologyRefresh {
  readonly #deps: TopologyRefreshDeps;
  #state: State = "idle";
  #timer: NodeJS.Timeout | undefined;
  /** Whether somebody wanted an answer while a question was under way, or since the last answer. */
  #isWanted = false;
  #isKnown = false;

  constructor(deps: TopologyRefreshDeps) {
    this.#deps = deps;
  }

  /** Asks for the first time, now. */
  start(): void {
    this.#ask();
  }

  /** Asks soon, because what is known may be out of date. */
  soon(): void {
    if (this.#isWanted || !this.#isKnown) return;
    this.#isWanted = true;
    if (this.#state === "idle") this.#schedule(SOON_MS);
  }

  /** Asks no more. */
  close(): void {
    this.#state = "closed";
    clearTimeout(this.#timer);
  }

  #schedule(waitMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), waitMs);
  }

  #ask(): void {
    if (this.#state !== "idle") return;
    this.#state = "asking";
    this.#isWanted = false;
    void this.#deps.refresh().then((isAnswered) => this.#answered(isAnswered));
  }

  #answered(isAnswered: boolean): void {
    if (this.#state !== "asking") return; // Closed meanwhile.
    this.#state = "idle";
    this.#isKnown ||= isAnswered;
    this.#schedule(this.#waitMs(isAnswered));
  }

  #waitMs(isAnswered: boolean): number {
    if (!this.#isKnown) return this.#deps.startBackoff.nextMs();
    if (isAnswered && this.#isWanted) return SOON_MS;
    const waitMs = isAnswered && !this.#deps.isTroubled() ? REGULAR_MS : TROUBLED_MS;
    return waitMs * (1 - JITTER * this.#deps.random());
  }
}
