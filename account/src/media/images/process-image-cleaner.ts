// Cleans images in a process of their own, one after the other. Replaces the process when an image
// ended it, or left it with too much memory.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { AccountError, StartError } from "../../errors.ts";
import type { ImageCleaner, ImageResult } from "../image.ts";
import { ImageProcess, type ImageWorkLimits } from "./image-process.ts";

/** The dependencies of the cleaner. */
export interface ImageCleanerDeps {
  readonly log: Log;
  /** Runs one piece of work at a time, groups by turns, and bounds how many wait and how long. */
  readonly queue: { run<T>(group: string, work: () => Promise<T>): Promise<T> };
  /** Called when an image ended the process. */
  readonly onProcessEnded: () => void;
}

/** The options of the cleaner. */
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

  clean(bytes: Buffer, addressPrefix: string): Promise<ImageResult> {
    return this.#deps.queue.run(addressPrefix, () => this.#clean(bytes));
  }

  /** The id of the process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async #clean(bytes: Buffer): Promise<ImageResult> {
    const process = this.#current();
    try {
      await process.ready;
    } catch (cause) {
      throw new AccountError("media_store_unavailable", "Avatars cannot be processed right now. Try again later.", {
        cause,
        retryAfterSeconds: 2,
      });
    }
    const result = await process.work(bytes);
    if (result === undefined) this.#deps.onProcessEnded();
    else await this.#replaceIfLarge(process);
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
