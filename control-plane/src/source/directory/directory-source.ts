// The source that reads manifests below a folder: on a laptop, in a test, or mounted from a
// ConfigMap. Finds changes by watching folders, and by reading them every few seconds.
import { isDeepStrictEqual } from "node:util";

import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { FolderWatch } from "@weir/common/files/folder-watch";
import { Listeners } from "@weir/common/lifecycle/listeners";
import type { Log } from "@weir/common/log/log";

import type { Source, SourceCondition, SourceState } from "../source.ts";
import { LastGoodFiles } from "./last-good-files.ts";
import { ManifestStore } from "./manifest-store.ts";
import type { FileText } from "./read-manifest-file.ts";
import { scanFolder } from "./scan-folder.ts";
import { TextCache } from "./text-cache.ts";

/**
 * How often the folder is read when no event has come, in milliseconds: network file systems send
 * none.
 */
const POLL_INTERVAL_MS = 5000;

/** How often a folder that changes meanwhile is read before the read fails. */
const ATTEMPTS_MAX = 10;

/** The folder, and how often to read it without an event. */
export interface DirectorySourceOptions {
  readonly directory: string;
  /** Keeps last good revisions over a restart; undefined: they are kept in memory only. */
  readonly stateDirectory?: string | undefined;
  readonly pollIntervalMs?: number;
}

export interface DirectorySourceDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** A source over a folder, which it watches from start to stop. */
export class DirectorySource implements Source {
  readonly name = "directory source";
  readonly location: string;
  readonly #changed = new Listeners();
  readonly #clock: () => number;
  readonly #pollIntervalMs: number;
  readonly #texts: TextCache;
  readonly #store = new ManifestStore();
  readonly #lastGood: LastGoodFiles | undefined;
  readonly keepLastGood?: NonNullable<Source["keepLastGood"]>;
  /** The last texts that were stored, and the state that they gave. */
  #stored: { readonly texts: ReadonlyMap<string, FileText>; readonly state: SourceState } | undefined;
  readonly #watch: FolderWatch;
  #pollTimer: NodeJS.Timeout | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #isWatching = false;
  #syncedMs: number | undefined;
  #problem: string | undefined;

  constructor(deps: DirectorySourceDeps, options: DirectorySourceOptions) {
    this.location = options.directory;
    this.#clock = deps.clock;
    this.#pollIntervalMs = options.pollIntervalMs ?? POLL_INTERVAL_MS;
    this.#texts = new TextCache(deps.clock);
    if (options.stateDirectory !== undefined) {
      const files = new LastGoodFiles(options.stateDirectory, deps.log);
      this.#lastGood = files;
      this.keepLastGood = (resources) => files.keep(resources);
    }
    this.#watch = new FolderWatch({ log: deps.log, changed: () => this.#changed.notify() });
  }

  async start(): Promise<void> {
    await this.#lastGood?.open();
    const { folders } = await scanFolder(this.location);
    this.#isWatching = true;
    this.#watch.watch(folders);
    this.#pollTimer = setInterval(() => void this.#poll(), this.#pollIntervalMs);
  }

  stop(): void {
    this.#isWatching = false;
    clearInterval(this.#pollTimer);
    this.#watch.close();
  }

  /** One read at a time. */
  read(): Promise<SourceState> {
    const next = this.#reading.then(() => this.#read());
    this.#reading = next.catch(() => undefined);
    return next;
  }

  onChanged(listener: () => void): void {
    this.#changed.add(listener);
  }

  condition(): SourceCondition {
    return { syncedMs: this.#syncedMs, problem: this.#problem };
  }

  /** Reads the folder, and notifies only of what is new: an edit soon after a notification is one of a burst, and waits. */
  async #poll(): Promise<void> {
    await this.#reading; // Its caller has what it finds.
    const { state } = this.#stored ?? {};
    const problem = this.#problem;
    const isSame = await this.read().then(
      (now) => now === state && problem === undefined,
      () => false, // The next read reports why.
    );
    if (!isSame) this.#changed.notify();
  }

  async #read(): Promise<SourceState> {
    try {
      const state = await this.#readFolder();
      this.#syncedMs = this.#clock();
      this.#problem = undefined;
      return state;
    } catch (error) {
      this.#problem = describeError(error);
      throw error;
    }
  }

  async #readFolder(): Promise<SourceState> {
    let scan = await scanFolder(this.location);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (this.#isWatching && this.#watch.watch(scan.folders)) this.#changed.notify();
      const texts = await this.#texts.read(scan.files);
      // Nothing has changed since the last texts were stored.
      if (texts === this.#stored?.texts) return this.#stored.state;
      // If a link was swapped meanwhile, files are missing or come from two versions.
      const after = await scanFolder(this.location);
      if (isDeepStrictEqual(scan, after)) {
        const state = this.#store.update(texts);
        this.#stored = { texts, state: this.#lastGood?.complete(state) ?? state };
        return this.#stored.state;
      }
      scan = after;
    }
    const reason = `Cannot read the folder ${this.location}: it changes while it is read`;
    throw new ServiceError("SOURCE_UNREADABLE", reason, { transient: true });
  }
}
