// All TLS files that the process has opened, so that they are watched, reloaded and closed together.
import type { Log } from "@weir/common/log/log";
import { openTlsFiles, type TlsFilePaths, type TlsFiles } from "@weir/common/tls/tls-files";

/** Opens TLS files and keeps a list of them. */
export interface TlsFileSets {
  /** Reads and checks the files; fails with TLS_FILE_INVALID. */
  open(paths: TlsFilePaths): TlsFiles;
  /** Every set opened so far, as parts of the process. */
  all(): readonly TlsFiles[];
}

/** Makes an empty list. */
export function createTlsFileSets(deps: { readonly log: Log }): TlsFileSets {
  const sets: TlsFiles[] = [];
  return {
    open(paths) {
      const files = openTlsFiles(paths, deps);
      sets.push(files);
      return files;
    },
    all: () => sets,
  };
}
