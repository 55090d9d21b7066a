// Tells that something in a set of folders may have changed. What changed, and whether it matters,
// the caller finds out by looking; and because events get lost (network mounts, targets of links),
// callers look now and then anyway.
import { type FSWatcher, watch } from "node:fs";
import { basename } from "node:path";

import { errorCode } from "../errors/error-code.ts";
import type { Log } from "../log/log.ts";

/**
 * Most folders that are watched: a machine has a limited number of watches for all its processes.
 */
const FOLDERS_MAX = 512;

/** Watches folders, which may come and go. */
export interface FolderWatch {
  /**
   * Watches exactly these folders from now on, the first 512 of them; with `renew` also those anew
   * that are watched already, because such a watch does not notice that its folder was replaced.
   * Returns true when one was not watched before: look again, it may have changed meanwhile. A
   * folder that cannot be watched is passed over, and tried again at the next call.
   */
  watch(folders: readonly string[], options?: { readonly renew: boolean }): boolean;
  /** Ends watching; `changed` is not called any more. */
  close(): void;
}

/**
 * Makes a watch that calls `changed` whenever something happens directly in a watched folder. It
 * keeps no process alive.
 */
export function createFolderWatch(deps: { readonly log: Log; readonly changed: () => void }): FolderWatch {
  return new NodeFolderWatch(deps.log, deps.changed);
}

class NodeFolderWatch implements FolderWatch {
  readonly #log: Log;
  readonly #changed: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  /** Folders that could not be watched, so that each is told once. */
  readonly #unwatchable = new Set<string>();

  constructor(log: Log, changed: () => void) {
    this.#log = log;
    this.#changed = changed;
  }

  watch(folders: readonly string[], options: { readonly renew: boolean } = { renew: false }): boolean {
    const wanted = new Set(folders.slice(0, FOLDERS_MAX));
    const known = new Set(this.#watchers.keys());
    for (const folder of known) if (options.renew || !wanted.has(folder)) this.#drop(folder);
    for (const folder of this.#unwatchable) if (!wanted.has(folder)) this.#unwatchable.delete(folder);
    let isLookDue = false;
    for (const folder of wanted) {
      if (!this.#watchers.has(folder) && this.#add(folder) && !known.has(folder)) isLookDue = true;
    }
    return isLookDue;
  }

  close(): void {
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder);
  }

  #add(folder: string): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        // The folder itself was removed or renamed: whatever has its name next is another folder,
        // and this watch would not see it.
        if (event === "rename" && name === basename(folder)) this.#drop(folder);
        this.#changed();
      });
      watcher.on("error", (error) => {
        this.#drop(folder);
        this.#tellUnwatchable(folder, error);
        this.#changed();
      });
      this.#watchers.set(folder, watcher);
      this.#unwatchable.delete(folder);
      return true;
    } catch (error) {
      this.#tellUnwatchable(folder, error);
      return false;
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #tellUnwatchable(folder: string, error: unknown): void {
    if (this.#unwatchable.has(folder)) return;
    this.#unwatchable.add(folder);
    // A folder that is not there is the caller's matter: who looks into it will say so in its own
    // words.
    const isGone = errorCode(error) === "ENOENT";
    this.#log[isGone ? "debug" : "warn"](
      "cannot watch a folder, changes in it are found by looking every few seconds",
      { folder, error },
    );
  }
}
