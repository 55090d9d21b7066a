// Watches a changing set of folders and says only that something happened in one of them. What happened is for the caller to look at.
import { type FSWatcher, watch } from "node:fs";

import type { Log } from "@weir/common/log/log";

/** Most folders that are watched; a machine has a limited number of watches for all its processes. */
const FOLDERS_MAX = 512;

/** Watches folders. */
export interface FolderWatch {
  /**
   * Watches exactly these folders from now on; `renew` also where there is a watch already, which would not notice that its folder was replaced.
   * Folders that cannot be watched are passed over: the caller has to look now and then anyway.
   */
  update(folders: readonly string[], options: { readonly renew: boolean }): void;
  close(): void;
}

/** Calls `onEvent` whenever something happens directly in a watched folder. */
export function watchFolders(deps: { readonly log: Log }, onEvent: () => void): FolderWatch {
  const watchers = new Map<string, FSWatcher>();

  function drop(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  }

  function add(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, onEvent);
      watcher.on("error", (error) => {
        deps.log.debug("the watch on a configuration folder ended", { folder, error });
        drop(folder);
        onEvent();
      });
      watchers.set(folder, watcher);
    } catch (error) {
      deps.log.debug("cannot watch a configuration folder, it is looked at every few seconds instead", { folder, error });
    }
  }

  return {
    update(folders, { renew }) {
      const wanted = new Set(folders.slice(0, FOLDERS_MAX));
      for (const folder of watchers.keys()) if (renew || !wanted.has(folder)) drop(folder);
      for (const folder of wanted) if (!watchers.has(folder)) add(folder);
    },
    close() {
      for (const folder of watchers.keys()) drop(folder);
    },
  };
}
