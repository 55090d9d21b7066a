// The part that sweeps the media store after the start of the service, without delaying it.
import { describeError } from "@weir/common/errors/service-error";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { maskCredentials } from "@weir/common/settings/secret";
import { type SweepDeps, sweepMedia } from "./sweep-media.ts";

/** Sweeps once in the background. */
export class MediaSweep implements Part {
  readonly name = "media sweep";
  readonly #deps: SweepDeps & { readonly log: Log };
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(deps: SweepDeps & { readonly log: Log }) {
    this.#deps = deps;
  }

  /** Begins the sweep. */
  start(): void {
    this.#running = this.#sweep();
  }

  /** Ends the sweep before its next removal. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #sweep(): Promise<void> {
    const { log } = this.#deps;
    const { signal } = this.#stop;
    try {
      const { isRefused, failure, ...found } = await sweepMedia(this.#deps, { isForced: false, signal });
      if (isRefused)
        log.error("Did not sweep the media store: most or all images have no user", {
          ...found,
          remedy: "check that this is the right user store, then run weir-account sweep --force",
        });
      else if (found.failed > 0)
        log.warn("Cannot remove some images without a user", {
          ...found,
          reason: maskCredentials(describeError(failure)),
        });
      else if (found.removed > 0) log.info("Swept the media store", found);
    } catch (error) {
      if (!signal.aborted) log.warn("Cannot sweep the media store", { reason: maskCredentials(describeError(error)) });
    }
  }
}
