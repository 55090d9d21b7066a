// Cleans images in a process of their own, one after the other. Replaces the process when an image
// ended it, or left it with too much memory.
import type { CallerGroup } from "@weir/common/callers/caller-group";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { AccountError, rateLimited, StartError } from "../../errors.ts";
import type { WorkQueue } from "../../fairness/work-queue.ts";
import type { ImageCleaner, ImageResult } from "../image.ts";
import { ImageProcess, type ImageWorkLimits } from "./image-process.ts";

/** How long a customer whose image had to be stopped waits for its next, in milliseconds. */
const STOPPED_WAIT_MS = 60_000;

/** The dependencies of the cleaner. */
export interface ImageCleanerDeps {
  readonly log: Log;
  /** Runs one piece of work at a time, groups by turns, and bounds how many wait and how long. */
  readonly queue: Pick<WorkQueue, "run">;
  /** Milliseconds of a clock that only goes forward. */
  readonly nowMs: () => number;
  /** Called when an image ended the process. */
  readonly onProcessEnded: () => void;
}

export interface ImageCleanerOptions extends ImageWorkLimits {
  /** Most resident memory that the process keeps between two images, in bytes. */
  readonly idleMemoryMaxBytes: number;
}

/** An image cleaner with one image process. */
export class ProcessImageCleaner implements ImageCleaner, Part {
  readonly name = "image process";
  readonly #deps: ImageCleanerDeps;
  readonly #options: ImageCleanerOptions;
  #process: ImageProcess | undefined;
  /** Until when customers wait whose image had to be stopped, in the order of the ends. */
  readonly #stopped = new Map<string, number>();

  constructor(deps: ImageCleanerDeps, options: ImageCleanerOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Starts the process, so that a machine without a working sharp shows it at the start. */
  async start(): Promise<void> {
    try {
      await this.#current().ready;
    } catch (cause) {
      throw new StartError("IMAGE_PROCESS_UNUSABLE", "Cannot start the process that decodes avatars", { cause });
    }
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    process?.kill("the service stops");
    await process?.ended;
  }

  async clean(bytes: Buffer, { networks, customer }: CallerGroup, call?: AbortController): Promise<ImageResult> {
    this.#refuseStopped(customer);
    const work = async (): Promise<ImageResult> => {
      this.#refuseStopped(customer); // Another one of the customer may have been stopped meanwhile.
      const result = await this.#clean(bytes);
      if (!result.ok && result.problem === "complex") this.#stopped.set(customer, this.#deps.nowMs() + STOPPED_WAIT_MS);
      return result;
    };
    return await this.#deps.queue.run(networks, work, call);
  }

  /** The id of the process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  #refuseStopped(customer: string): void {
    const nowMs = this.#deps.nowMs();
    for (const [other, endMs] of this.#stopped) {
      if (endMs > nowMs) break;
      this.#stopped.delete(other);
    }
    const endMs = this.#stopped.get(customer);
    if (endMs !== undefined) throw rateLimited(Math.ceil((endMs - nowMs) / 1000));
  }

  async #clean(bytes: Buffer, isRetry = false): Promise<ImageResult> {
    const process = this.#current();
    try {
      await process.ready;
    } catch (cause) {
      throw unavailable(cause);
    }
    const result = await process.work(bytes);
    if (result === undefined) this.#deps.onProcessEnded();
    else await this.#replaceIfLarge(process);
    if (process.isKilledFromOutside) {
      // Which is not the fault of the image.
      if (isRetry) throw unavailable(undefined);
      return this.#clean(bytes, true);
    }
    if (this.#process === undefined) this.#current(); // The next image does not have to wait for a start.
    return result ?? { ok: false, problem: "complex" };
  }

  #current(): ImageProcess {
    return (this.#process ??= this.#open());
  }

  #open(): ImageProcess {
    const process = new ImageProcess(this.#options);
    void process.ended.then((reason) => {
      if (this.#process !== process) return; // Ended by this class.
      this.#process = undefined;
      this.#deps.log.warn("The image process ended", { reason });
    });
    return process;
  }

  async #replaceIfLarge(process: ImageProcess): Promise<void> {
    const memoryBytes = await process.memoryBytes();
    if (memoryBytes === undefined || memoryBytes <= this.#options.idleMemoryMaxBytes) return;
    this.#deps.log.debug("Replacing the image process", { memoryBytes });
    if (this.#process === process) this.#process = undefined;
    process.kill("it kept too much memory");
  }
}

function unavailable(cause: unknown): AccountError {
  const message = "Avatars cannot be processed right now. Try again later.";
  return new AccountError("media_store_unavailable", message, { cause, retryAfterSeconds: 2 });
}
