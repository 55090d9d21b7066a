// Certificate, key and CA files that are read again when they change: by rename, by the symlink
// swap of a mounted Kubernetes secret, or in place. Keeps what was last good; what a server does
// with it is the listeners' matter.
import { dirname } from "node:path";

import { describeError } from "../errors/service-error.ts";
import { createFolderWatch, type FolderWatch } from "../files/folder-watch.ts";
import type { Part } from "../lifecycle/lifecycle.ts";
import type { Log } from "../log/log.ts";
import {
  checkTlsMaterial,
  isSameMaterial,
  readTlsMaterial,
  type TlsFilePaths,
  type TlsMaterial,
} from "./tls-material.ts";

export type {
  /** Which files there are. */
  TlsFilePaths,
  /** What they hold. */
  TlsMaterial,
};

/**
 * How often the files are read even when nothing was seen to happen, in milliseconds: a watch on a
 * folder does not see a link's target change.
 */
const POLL_INTERVAL_MS = 5000;

/**
 * How long after the last event of a folder the files are read, in milliseconds: certificate and
 * key are written one after the other.
 */
const SETTLE_MS = 50;

/** The files and what they last held that was good. */
export interface TlsFiles extends Part {
  /** Takes over what changed since opening, and watches from now on. */
  start(): void;
  /** Ends watching; listeners hear nothing more. */
  stop(): void;
  /**
   * What is in force: the last content that was whole and matching. Callers must not change the
   * buffers.
   */
  current(): TlsMaterial;
  /**
   * Calls the listener with each new content; returns the function that ends this. A listener that
   * throws is logged.
   */
  onChange(listener: (material: TlsMaterial) => void): () => void;
  /** Reads the files now, for SIGHUP. Bad content is logged and not taken over. */
  reload(): void;
}

/**
 * What the files need. `refused` hears of each new content that cannot be used, as often as the
 * log.
 */
export interface TlsFilesDeps {
  readonly log: Log;
  readonly refused?: () => void;
}

/**
 * Reads and checks the files at once (fails with TLS_FILE_INVALID, naming the file) and watches
 * them from start to stop.
 */
export function openTlsFiles(
  paths: TlsFilePaths,
  deps: TlsFilesDeps,
  options: { readonly pollIntervalMs?: number } = {},
): TlsFiles {
  return new WatchedTlsFiles(paths, deps, options.pollIntervalMs ?? POLL_INTERVAL_MS);
}

class WatchedTlsFiles implements TlsFiles {
  readonly name = "TLS files";
  readonly #paths: TlsFilePaths;
  readonly #log: Log;
  readonly #refused: (() => void) | undefined;
  readonly #pollIntervalMs: number;
  readonly #listeners = new Set<(material: TlsMaterial) => void>();
  readonly #watch: FolderWatch;
  #current: TlsMaterial;
  /** The message of the last refusal, so that a file that stays bad is not logged at every poll. */
  #refusal: string | undefined;
  #pollTimer: NodeJS.Timeout | undefined;
  #settleTimer: NodeJS.Timeout | undefined;

  constructor(paths: TlsFilePaths, { log, refused }: TlsFilesDeps, pollIntervalMs: number) {
    this.#paths = paths;
    this.#log = log;
    this.#refused = refused;
    this.#pollIntervalMs = pollIntervalMs;
    this.#watch = createFolderWatch({ log, changed: () => this.#settle() });
    this.#current = readTlsMaterial(paths);
    checkTlsMaterial(this.#current, paths);
  }

  start(): void {
    this.#watchFolders();
    this.#pollTimer = setInterval(() => {
      this.#watchFolders(); // A folder that was gone may be back.
      this.#refresh();
    }, this.#pollIntervalMs).unref(); // Watching files alone keeps no process alive.
    this.#refresh(); // What changed between opening and watching.
  }

  stop(): void {
    clearInterval(this.#pollTimer);
    clearTimeout(this.#settleTimer);
    this.#watch.close();
    this.#listeners.clear();
  }

  current(): TlsMaterial {
    return this.#current;
  }

  onChange(listener: (material: TlsMaterial) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  reload(): void {
    this.#refusal = undefined; // Asked for by a person: tell again what is wrong.
    this.#refresh();
  }

  #refresh(): void {
    let material: TlsMaterial;
    try {
      material = readTlsMaterial(this.#paths);
      if (isSameMaterial(material, this.#current)) {
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
    this.#log.info("TLS files reloaded", { ...this.#paths });
    this.#tellListeners(material);
  }

  #refuse(error: unknown): void {
    const refusal = describeError(error);
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    this.#refused?.();
    this.#log.warn("TLS files changed but cannot be used, the old ones stay in force", { error });
  }

  #tellListeners(material: TlsMaterial): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(material);
      } catch (error) {
        this.#log.error("cannot take over reloaded TLS files", { error });
      }
    }
  }

  #watchFolders(): void {
    const files = [this.#paths.certPath, this.#paths.keyPath, this.#paths.caPath].filter((path) => path !== undefined);
    this.#watch.watch(files.map((path) => dirname(path)));
  }

  #settle(): void {
    clearTimeout(this.#settleTimer);
    this.#settleTimer = setTimeout(() => this.#refresh(), SETTLE_MS);
  }
}
