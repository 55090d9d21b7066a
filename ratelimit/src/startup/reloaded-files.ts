// The files that the process has opened, certificates and secrets, which reload on SIGHUP and close
// together.
import type { Log } from "@weir/common/log/log";
import { SecretFile } from "@weir/common/secrets/secret-file";
import { Secret } from "@weir/common/settings/secret";
import { type TlsFilePaths, TlsFiles } from "@weir/common/tls/tls-files";

import type { LoadStatistics } from "../statistics/service-statistics.ts";

/** Opens files and lists them. */
export class ReloadedFiles {
  readonly #log: Log;
  readonly #all: (TlsFiles | SecretFile)[] = [];

  constructor(deps: { readonly log: Log }) {
    this.#log = deps.log;
  }

  /** Everything opened so far. */
  get all(): readonly (TlsFiles | SecretFile)[] {
    return this.#all;
  }

  /**
   * Reads and checks the files; fails with TLS_FILE_INVALID. `statistics` count this load and every
   * later one.
   */
  openTls(paths: TlsFilePaths, statistics?: LoadStatistics): TlsFiles {
    const count = (result: "loaded" | "refused"): void => {
      statistics?.attempts.add(1);
      if (result === "refused") statistics?.failures.add(1);
    };
    const files = new TlsFiles(paths, { log: this.#log, refused: () => count("refused") });
    count("loaded");
    files.onChange(() => count("loaded"));
    statistics?.values.set([paths.certPath, paths.keyPath, paths.caPath].filter((path) => path !== undefined).length);
    this.#all.push(files);
    return files;
  }

  /** The secret of the settings, with the present value of its file if it is from one. */
  openSecret(secret: Secret): Secret {
    const { path } = secret;
    if (path === undefined) return secret;
    const file = new SecretFile({ path, value: secret.reveal() }, { log: this.#log });
    this.#all.push(file);
    return new Secret(file, { path });
  }
}
