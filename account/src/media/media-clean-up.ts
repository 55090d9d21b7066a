// The part that removes what registrations left behind in the media store, by their intents: at the
// start of the service and then each hour. Replicas may do so at the same time.
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import { describeError } from "@weir/common/errors/service-error";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { maskCredentials } from "@weir/common/settings/secret";
import type { UserStore } from "../store/user-store.ts";
import { LEFT_OVER_AGE_MS, type MediaStore } from "./media-store.ts";

/** Wait between two rounds, in milliseconds. */
const INTERVAL_MS = 3_600_000;

/** The dependencies of the clean-up. */
export interface MediaCleanUpDeps {
  readonly media: Pick<MediaStore, "remove">;
  readonly store: Pick<UserStore, "takeMediaIntents" | "removeMediaIntent">;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
  /** An image that no record names was removed, or could not be. */
  readonly onOrphan: (result: "removed" | "failed") => void;
}

/** Cleans up in the background. */
export class MediaCleanUp implements Part {
  readonly name = "media clean-up";
  readonly #deps: MediaCleanUpDeps;
  readonly #stop = new AbortController();
  readonly #rounds: RetryLoop;
  #running: Promise<void> | undefined;

  constructor(deps: MediaCleanUpDeps) {
    this.#deps = deps;
    const wait = { initialMs: INTERVAL_MS, maxMs: INTERVAL_MS, factor: 0, jitter: false, random: Math.random };
    this.#rounds = new RetryLoop(() => void (this.#running = this.#round()), wait);
  }

  /** Begins the first round. */
  start(): void {
    this.#rounds.start();
  }

  /** Ends the round before its next removal. */
  async stop(): Promise<void> {
    this.#rounds.stop();
    this.#stop.abort();
    await this.#running;
  }

  async #round(): Promise<void> {
    const { log } = this.#deps;
    try {
      const { removed, failed, failure } = await this.#removeAll();
      if (failed > 0)
        log.warn("Cannot remove some images without a user", { removed, failed, reason: reasonOf(failure) });
      else if (removed > 0) log.info("Removed images without a user", { removed });
    } catch (error) {
      if (!this.#stop.signal.aborted) log.warn("Cannot clean up the media store", { reason: reasonOf(error) });
    }
    this.#rounds.retry();
  }

  /** Removes until nothing is left over; what fails waits for the next round. */
  async #removeAll(): Promise<{ removed: number; failed: number; failure: unknown }> {
    const { store, clock, onOrphan } = this.#deps;
    const found = { removed: 0, failed: 0, failure: undefined as unknown };
    for (;;) {
      const keys = await store.takeMediaIntents(clock() - LEFT_OVER_AGE_MS);
      for (const key of keys) {
        this.#stop.signal.throwIfAborted();
        const result = await this.#remove(key).then(
          () => "removed" as const,
          (error: unknown) => {
            found.failure = error;
            return "failed" as const;
          },
        );
        found[result] += 1;
        onOrphan(result);
      }
      if (keys.length === 0 || found.failed > 0) return found;
    }
  }

  /** In this order: an intent that is left leads to the object, an object without an intent to nothing. */
  async #remove(key: string): Promise<void> {
    await this.#deps.media.remove(key);
    await this.#deps.store.removeMediaIntent(key);
  }
}

function reasonOf(error: unknown): string {
  return maskCredentials(describeError(error));
}
