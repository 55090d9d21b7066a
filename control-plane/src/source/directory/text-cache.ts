// The texts of many files. Reads a file again when its times, size or inode have changed, and every
// file once in a while, because not every change shows in those.
import { stat } from "node:fs";
import { isDeepStrictEqual, promisify } from "node:util";

import { type FileText, type FileVersion, type ReadFile, readFileText, versionOf } from "./read-manifest-file.ts";

/**
 * Files that are read at the same time: enough to hide the latency of a disk, few enough for every
 * limit on open files.
 */
const CONCURRENCY = 32;

/**
 * A file that was changed less than this before it was read may be changed once more under the same
 * time, in milliseconds: file systems count in steps of up to 2 s, kernels of up to 10 ms.
 */
const YOUNG_MS = 2000;

/**
 * How often all files are read, in milliseconds: network file systems report old times and sizes for
 * a while, and writes through mapped memory change no time until they reach the disk.
 */
const READ_ALL_MS = 30_000;

/** The file system as the cache uses it. */
export interface FileAccess {
  /** The version of the file at a path; undefined when there is none or it cannot be read. */
  version(path: string): Promise<FileVersion | undefined>;
  /** The text of a file and its version; never rejects. */
  read(path: string): Promise<ReadFile>;
}

interface CachedText {
  readonly text: FileText;
  /** Present when the text is the same as long as the version is. */
  readonly version: FileVersion | undefined;
}

/** Keeps texts from one call to the next. */
export class TextCache {
  readonly #clock: () => number;
  readonly #files: FileAccess;
  #cached: ReadonlyMap<string, CachedText> = new Map();
  #texts: ReadonlyMap<string, FileText> = new Map();
  #allReadMs = -Infinity;
  #calledMs = -Infinity;

  /** `clock` returns milliseconds since the epoch, as the file systems count them. */
  constructor(clock: () => number, files: FileAccess = NODE_FILES) {
    this.#clock = clock;
    this.#files = files;
  }

  /**
   * The texts of all files as they are now, in the order of `paths`; the same map as before when
   * nothing has changed.
   */
  async read(paths: readonly string[]): Promise<ReadonlyMap<string, FileText>> {
    const nowMs = this.#clock();
    // A clock that was set back makes all times meaningless.
    const isAllDue = nowMs < this.#calledMs || nowMs >= this.#allReadMs + READ_ALL_MS;
    this.#calledMs = nowMs;
    if (isAllDue) this.#allReadMs = nowMs;
    const next = new Map<string, CachedText>();
    for (let first = 0; first < paths.length; first += CONCURRENCY) {
      const batch = paths.slice(first, first + CONCURRENCY);
      const files = await Promise.all(batch.map((path) => this.#readOne(path, isAllDue)));
      files.forEach((file, index) => next.set(batch[index] ?? "", file));
    }
    const isSame =
      next.size === this.#cached.size && [...next].every(([path, { text }]) => this.#cached.get(path)?.text === text);
    this.#cached = next;
    if (!isSame) this.#texts = new Map([...next].map(([path, { text }]) => [path, text]));
    return this.#texts;
  }

  async #readOne(path: string, isDue: boolean): Promise<CachedText> {
    const cached = this.#cached.get(path);
    if (!isDue && cached?.version !== undefined && cached.version.id === (await this.#files.version(path))?.id)
      return cached;
    const startedMs = this.#clock();
    const { text, version } = await this.#files.read(path);
    // Why a file cannot be read may change without the file.
    const isFinal = text.kind === "text" && version !== undefined && version.changedMs <= startedMs - YOUNG_MS;
    return {
      text: cached !== undefined && isDeepStrictEqual(cached.text, text) ? cached.text : text,
      version: isFinal ? version : undefined,
    };
  }
}

/** Half the work of the same function of node:fs/promises, which counts with thousands of files. */
const statFile = promisify(stat);

const NODE_FILES: FileAccess = {
  read: readFileText,
  version: async (path) => {
    try {
      return versionOf(await statFile(path, { bigint: true }));
    } catch {
      return undefined; // Reading the file reports why.
    }
  },
};
