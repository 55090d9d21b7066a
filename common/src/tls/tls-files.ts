// Certificate, key and CA files that are read again when they change: by rename, by the symlink swap of
// a mounted Kubernetes secret, or in place. Keeps the last valid content.
import { isDeepStrictEqual } from "node:util";

import { describeError } from "../errors/service-error.ts";
import { FileWatch } from "../files/file-watch.ts";
import type { Part } from "../lifecycle/lifecycle.ts";
import type { Log } from "../log/log.ts";
import { checkTlsMaterial, readTlsMaterial, type TlsFilePaths, type TlsMaterial } from "./tls-material.ts";

export type {
  TlsFilePaths,
  /** Contents of the files. */
  TlsMaterial,
};

/** The dependencies of the files. `refused` is called for each new content that cannot be used, once. */
export interface TlsFilesDeps {
  readonly log: Log;
  readonly refused?: () => void;
}

/** Certificate files, watched from `start` to `stop`, and their last valid content. */
export class TlsFiles implements Part {
  readonly name = "TLS files";
  readonly #paths: TlsFilePaths;
  readonly #log: Log;
  readonly #refused: (() => void) | undefined;
  readonly #listeners = new Set<(material: TlsMaterial) => void>();
  readonly #watch: FileWatch;
  #current: TlsMaterial;
  /** The last error, so that a file that stays invalid is logged once. */
  #refusal: string | undefined;

  /** Reads and checks the files; fails with TLS_FILE_INVALID, naming the file. */
  constructor(
    paths: TlsFilePaths,
    { log, refused }: TlsFilesDeps,
    { pollIntervalMs }: { readonly pollIntervalMs?: number } = {},
  ) {
    this.#paths = paths;
    this.#log = log;
    this.#refused = refused;
    const files = [paths.certPath, paths.keyPath, paths.caPath].filter((path) => path !== undefined);
    this.#watch = new FileWatch({ log, mayHaveChanged: () => this.#refresh() }, { paths: files, pollIntervalMs });
    this.#current = readTlsMaterial(paths);
    checkTlsMaterial(this.#current, paths);
  }

  /** Begins to watch the files, and applies what has changed since they were opened. */
  start(): void {
    this.#watch.start();
  }

  /** Ends watching; listeners are not called any more. */
  stop(): void {
    this.#watch.stop();
    this.#listeners.clear();
  }

  /** The last content that was valid as a whole. Callers must not change the buffers. */
  current(): TlsMaterial {
    return this.#current;
  }

  /**
   * Calls the listener with each new content; returns the function that ends this. An error of the
   * listener is logged.
   */
  onChange(listener: (material: TlsMaterial) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads the files now, for SIGHUP. Invalid content is logged and not applied. */
  reload(): void {
    this.#refusal = undefined; // Requested by a person: log again what is wrong.
    this.#refresh();
  }

  #refresh(): void {
    let material: TlsMaterial;
    try {
      material = readTlsMaterial(this.#paths);
      if (isDeepStrictEqual(material, this.#current)) {
        this.#refusal = undefined;
        return;
      }
      checkTlsMaterial(material, this.#paths);
    } catch (error) {
      this.#refuse(error);
      return;
    }
    this.#refusal = undefined;
    this.#current = material;
    this.#log.info("Reloaded TLS files", { ...this.#paths });
    this.#notifyListeners(material);
  }

  #refuse(error: unknown): void {
    const refusal = describeError(error);
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    this.#refused?.();
    this.#log.warn("Cannot use the changed TLS files, the old ones stay active", { error });
  }

  #notifyListeners(material: TlsMaterial): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(material);
      } catch (error) {
        this.#log.error("Cannot apply reloaded TLS files", { error });
      }
    }
  }
}
