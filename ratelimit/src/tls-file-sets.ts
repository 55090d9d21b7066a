// All TLS files that the process has opened, so that they are watched, reloaded and closed
// together.
import type { Log } from "@weir/common/log/log";
import { openTlsFiles, type TlsFilePaths, type TlsFiles } from "@weir/common/tls/tls-files";

import type { LoadStatistics } from "./statistics/load-statistics.ts";

/** Opens TLS files and keeps a list of them. */
export interface TlsFileSets {
  /**
   * Reads and checks the files; fails with TLS_FILE_INVALID. `statistics` count this load and every
   * later one.
   */
  open(paths: TlsFilePaths, statistics?: LoadStatistics): TlsFiles;
  /** Every set opened so far, as parts of the process. */
  all(): readonly TlsFiles[];
}

/** Makes an empty list. */
export function createTlsFileSets(deps: { readonly log: Log }): TlsFileSets {
  const sets: TlsFiles[] = [];
  return {
    open(paths, statistics) {
      const count = (result: "loaded" | "refused"): void => {
        statistics?.attempts.add(1);
        if (result === "refused") statistics?.failures.add(1);
      };
      const files = openTlsFiles(paths, { ...deps, refused: () => count("refused") });
      count("loaded");
      files.onChange(() => count("loaded"));
      statistics?.values.set([paths.certPath, paths.keyPath, paths.caPath].filter((path) => path !== undefined).length);
      sets.push(files);
      return files;
    },
    all: () => sets,
  };
}
