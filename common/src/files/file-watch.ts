// Reports that files may have changed: by rename, by the symlink swap of a mounted Kubernetes secret, or
// in place.
import { dirname } from "node:path";

import type { Log } from "../log/log.ts";
import { FolderWatch } from "./folder-watch.ts";

/**
 * How often the files are read even without an event, in milliseconds: a watch on a folder does not
 * notice that the target of a link has changed.
 */
const POLL_INTERVAL_MS = 5000;

/**
 * How long after the last event of a folder the files are read, in milliseconds: certificate and
 * key are written one after the other.
 */
const SETTLE_MS = 50;

/** The files of a watch, and how often they are read even without an event. */
export interface FileWatchOptions {
  /** The files; their folders are watched. */
  readonly paths: readonly string[];
  readonly pollIntervalMs?: number | undefined;
}

/** Watches files from `start` to `stop`. Keeps no process alive. */
export class FileWatch {
  readonly #folders: readonly string[];
  readonly #pollIntervalMs: number;
  readonly #mayHaveChanged: () => void;
  readonly #watch: FolderWatch;
  #pollTimer: NodeJS.Timeout | undefined;
  #settleTimer: NodeJS.Timeout | undefined;

  /** Calls `mayHaveChanged` also when nothing has changed: the caller reads and compares. */
  constructor(
    { log, mayHaveChanged }: { readonly log: Log; readonly mayHaveChanged: () => void },
    { paths, pollIntervalMs = POLL_INTERVAL_MS }: FileWatchOptions,
  ) {
    this.#folders = paths.map((path) => dirname(path));
    this.#pollIntervalMs = pollIntervalMs;
    this.#mayHaveChanged = mayHaveChanged;
    this.#watch = new FolderWatch({ log, changed: () => this.#settle() });
  }

  /** Begins to watch; calls back immediately for what has changed since the files were read. */
  start(): void {
    this.#watch.watch(this.#folders);
    this.#pollTimer = setInterval(() => {
      this.#watch.watch(this.#folders); // A folder that was removed may exist again.
      this.#mayHaveChanged();
    }, this.#pollIntervalMs).unref(); // Watching files alone keeps no process alive.
    this.#mayHaveChanged();
  }

  /** Ends watching. */
  stop(): void {
    clearInterval(this.#pollTimer);
    clearTimeout(this.#settleTimer);
    this.#watch.close();
  }

  #settle(): void {
    clearTimeout(this.#settleTimer);
    this.#settleTimer = setTimeout(this.#mayHaveChanged, SETTLE_MS);
  }
}
