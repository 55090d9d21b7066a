// Reports that something in a set of folders may have changed. Events get lost (network mounts, targets
// of links), so callers also read the folders at an interval.
import { type FSWatcher, watch } from "node:fs";
import { basename } from "node:path";

import { errorCode } from "../errors/error-code.ts";
import type { Log } from "../log/log.ts";

/**
 * Most folders that are watched: a machine has a limited number of watches for all its processes.
 */
const FOLDERS_MAX = 512;

/** Watches folders, which may be removed and made again. Keeps no process alive. */
export class FolderWatch {
  readonly #log: Log;
  readonly #changed: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  /** Folders that could not be watched, so that each is logged once. */
  readonly #unwatchable = new Set<string>();

  /** Calls `changed` whenever something happens directly in a watched folder. */
  constructor({ log, changed }: { readonly log: Log; readonly changed: () => void }) {
    this.#log = log;
    this.#changed = changed;
  }

  /**
   * Watches exactly these folders from now on, the first 512 of them; `renew` replaces existing
   * watches, because a watch does not notice that its folder was replaced. Returns true if a folder
   * was not watched before: it may have changed in the meantime, so read it. A folder that cannot be
   * watched is tried again at the next call.
   */
  watch(folders: readonly string[], options: { readonly renew: boolean } = { renew: false }): boolean {
    const wanted = new Set(folders.slice(0, FOLDERS_MAX));
    const known = new Set(this.#watchers.keys());
    for (const folder of known) if (options.renew || !wanted.has(folder)) this.#drop(folder);
    for (const folder of this.#unwatchable) if (!wanted.has(folder)) this.#unwatchable.delete(folder);
    let isNew = false;
    for (const folder of wanted) {
      if (!this.#watchers.has(folder) && this.#add(folder) && !known.has(folder)) isNew = true;
    }
    return isNew;
  }

  /** Ends watching; `changed` is not called any more. */
  close(): void {
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder);
  }

  #add(folder: string): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        // The folder itself was removed or renamed: a folder that gets its name next is another one,
        // and this watch would not see it.
        if (event === "rename" && name === basename(folder)) this.#drop(folder);
        this.#changed();
      });
      watcher.on("error", (error) => {
        this.#drop(folder);
        this.#logUnwatchable(folder, error);
        this.#changed();
      });
      this.#watchers.set(folder, watcher);
      this.#unwatchable.delete(folder);
      return true;
    } catch (error) {
      this.#logUnwatchable(folder, error);
      return false;
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #logUnwatchable(folder: string, error: unknown): void {
    if (this.#unwatchable.has(folder)) return;
    this.#unwatchable.add(folder);
    // The caller reports a folder that does not exist.
    const isGone = errorCode(error) === "ENOENT";
    this.#log[isGone ? "debug" : "warn"]("Cannot watch folder, it is read every few seconds instead", {
      folder,
      error,
    });
  }
}

/** Makes a watch. */
export function createFolderWatch(deps: { readonly log: Log; readonly changed: () => void }): FolderWatch {
  return new FolderWatch(deps);
}
