// Tells that something in a set of folders may have changed. What changed, and whether it matters, is found out by looking.
import { type FSWatcher, watch } from "node:fs";

import type { Log } from "@weir/common/log/log";

/** Watches folders, which may come and go. */
export interface FolderWatch {
  /** Watches exactly these folders from now on. Returns true when one of them was not watched before: look again, it may have changed meanwhile. */
  watch(folders: readonly string[]): boolean;
  close(): void;
}

/** Makes a watch that calls `changed` at every event. */
export function createFolderWatch(deps: { readonly log: Log; readonly changed: () => void }): FolderWatch {
  return new NodeFolderWatch(deps.log, deps.changed);
}

class NodeFolderWatch implements FolderWatch {
  readonly #log: Log;
  readonly #changed: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  /** Folders that could not be watched: told once, and tried again at every look. */
  readonly #unwatchable = new Set<string>();

  constructor(log: Log, changed: () => void) {
    this.#log = log;
    this.#changed = changed;
  }

  watch(folders: readonly string[]): boolean {
    const wanted = new Set(folders);
    for (const folder of [...this.#watchers.keys()]) if (!wanted.has(folder)) this.#drop(folder);
    const added = [...wanted].filter((folder) => !this.#watchers.has(folder) && this.#add(folder));
    return added.length > 0;
  }

  close(): void {
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder);
  }

  #add(folder: string): boolean {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        // The folder itself was removed or renamed: whatever has its name next is another folder, and this watch would not see it.
        if (event === "rename" && name !== null && folder.endsWith(`/${name}`)) this.#drop(folder);
        this.#changed();
      });
      watcher.on("error", (error) => this.#lose(folder, error));
      this.#watchers.set(folder, watcher);
      this.#unwatchable.delete(folder);
      return true;
    } catch (error) {
      this.#tellUnwatchable(folder, error);
      return false;
    }
  }

  #lose(folder: string, error: unknown): void {
    this.#drop(folder);
    this.#tellUnwatchable(folder, error);
    this.#changed();
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #tellUnwatchable(folder: string, error: unknown): void {
    if (this.#unwatchable.has(folder)) return;
    this.#unwatchable.add(folder);
    this.#log.warn("Cannot watch a folder, changes in it are found by looking every few seconds", { folder, error });
  }
}
