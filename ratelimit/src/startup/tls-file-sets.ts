// The TLS files that the process has opened, which reload on SIGHUP and close together.
import type { Log } from "@weir/common/log/log";
import { type TlsFilePaths, TlsFiles } from "@weir/common/tls/tls-files";

import type { LoadStatistics } from "../statistics/service-statistics.ts";

/** Opens TLS files and lists them. */
export class TlsFileSets {
  readonly #log: Log;
  readonly #sets: TlsFiles[] = [];

  constructor(deps: { readonly log: Log }) {
    this.#log = deps.log;
  }

  /** Every set opened so far. */
  get all(): readonly TlsFiles[] {
    return this.#sets;
  }

  /**
   * Reads and checks the files; fails with TLS_FILE_INVALID. `statistics` count this load and every
   * later one.
   */
  open(paths: TlsFilePaths, statistics?: LoadStatistics): TlsFiles {
    const count = (result: "loaded" | "refused"): void => {
      statistics?.attempts.add(1);
      if (result === "refused") statistics?.failures.add(1);
    };
    const files = new TlsFiles(paths, { log: this.#log, refused: () => count("refused") });
    count("loaded");
    files.onChange(() => count("loaded"));
    statistics?.values.set([paths.certPath, paths.keyPath, paths.caPath].filter((path) => path !== undefined).length);
    this.#sets.push(files);
    return files;
  }
}
