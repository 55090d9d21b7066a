// The source that reads manifests below a folder: on a laptop, in a test, or mounted from a
// ConfigMap. Changes are found by watching folders, and by looking every few seconds where watching
// does not work (network file systems).
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { createFolderWatch, type FolderWatch } from "@weir/common/files/folder-watch";
import type { Log } from "@weir/common/log/log";

import type { Source, SourceCondition, SourceListener, SourceState } from "../source.ts";
import { createManifestMemory } from "./manifest-memory.ts";
import type { FileText } from "./read-manifest-file.ts";
import { type FolderScan, scanFolder } from "./scan-folder.ts";
import { createTextCache, type TextCache } from "./text-cache.ts";

/** How often the folder is looked at when nothing was seen to happen, in milliseconds. */
const POLL_INTERVAL_MS = 5000;

/** How often a folder is read that changes meanwhile, before the next event is waited for. */
const ATTEMPTS_MAX = 10;

/** Which folder, and how often to look at it unasked. */
export interface DirectorySourceOptions {
  readonly directory: string;
  readonly pollIntervalMs?: number;
}

/** What the source works with. */
export interface DirectorySourceDeps {
  readonly log: Log;
  readonly listener: SourceListener;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Makes the source; it looks at the folder at the first read and watches it from start to stop. */
export function createDirectorySource(deps: DirectorySourceDeps, options: DirectorySourceOptions): Source {
  return new DirectorySource(deps, options);
}

class DirectorySource implements Source {
  readonly name = "directory source";
  readonly location: string;
  readonly #listener: SourceListener;
  readonly #clock: () => number;
  readonly #pollIntervalMs: number;
  readonly #texts: TextCache;
  readonly #memory = createManifestMemory();
  /** What was made of which texts at last. */
  #taken: { readonly texts: ReadonlyMap<string, FileText>; readonly state: SourceState } | undefined;
  readonly #watch: FolderWatch;
  #pollTimer: NodeJS.Timeout | undefined;
  #isWatching = false;
  #syncedMs: number | undefined;
  #problem: string | undefined;

  constructor(deps: DirectorySourceDeps, options: DirectorySourceOptions) {
    this.location = options.directory;
    this.#listener = deps.listener;
    this.#clock = deps.clock;
    this.#pollIntervalMs = options.pollIntervalMs ?? POLL_INTERVAL_MS;
    this.#texts = createTextCache({ clock: deps.clock });
    this.#watch = createFolderWatch({ log: deps.log, changed: () => deps.listener.changed() });
  }

  async start(): Promise<void> {
    const { folders } = await scanFolder(this.location);
    this.#isWatching = true;
    this.#watch.watch(folders);
    this.#pollTimer = setInterval(() => this.#listener.changed(), this.#pollIntervalMs);
  }

  stop(): void {
    this.#isWatching = false;
    clearInterval(this.#pollTimer);
    this.#watch.close();
  }

  async read(): Promise<SourceState> {
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

  condition(): SourceCondition {
    return { syncedMs: this.#syncedMs, problem: this.#problem };
  }

  async #readFolder(): Promise<SourceState> {
    let scan = await scanFolder(this.location);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (this.#isWatching && this.#watch.watch(scan.folders)) this.#listener.changed();
      const texts = await this.#texts.read(scan.files);
      // Every file says what it said when all were taken.
      if (texts === this.#taken?.texts) return this.#taken.state;
      // Where a link was swapped meanwhile, files are missing or come from two versions.
      const after = await scanFolder(this.location);
      if (isSameScan(scan, after)) return this.#take(texts);
      scan = after;
    }
    throw new ServiceError(
      "SOURCE_UNREADABLE",
      `Cannot read the folder ${this.location}: it changes while it is read`,
      {
        transient: true,
      },
    );
  }

  #take(texts: ReadonlyMap<string, FileText>): SourceState {
    const state = this.#memory.update(texts);
    this.#taken = { texts, state };
    return state;
  }
}

/**
 * Whether both looks found the same files in the same folders. That a single file was written in
 * between is a matter of that file, and makes an event.
 */
function isSameScan(before: FolderScan, after: FolderScan): boolean {
  return before.files.join("\0") === after.files.join("\0") && before.folders.join("\0") === after.folders.join("\0");
}
