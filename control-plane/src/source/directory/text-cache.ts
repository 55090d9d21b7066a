// The texts of many files, of which only those are read that may hold another text than when they
// were read last. What a text says is not its business.
import { stat } from "node:fs";
import { statfs } from "node:fs/promises";
import { promisify } from "node:util";

import type { FileText, FileVersion, ReadFile } from "./read-manifest-file.ts";
import { isSameText, readFileText } from "./read-manifest-file.ts";

/**
 * Files that are looked at or read at the same time: enough to hide the latency of a disk, few
 * enough for every limit on open files.
 */
const CONCURRENCY = 32;

/**
 * A file that was changed less than this before it was read may be changed once more under the same
 * time, in milliseconds: file systems count in steps of up to a second (ext4 with small inodes),
 * kernels in steps of up to 10 ms.
 */
const YOUNG_MS = 2000;

/**
 * How often every file is read all the same, in milliseconds: what is written through a mapped page
 * moves no time until the page is on the disk.
 */
const READ_ALL_MS = 300_000;

/**
 * File systems, by Linux's numbers, that answer at once what a file is now: ext2 to ext4, XFS,
 * Btrfs, F2FS, ZFS, tmpfs, overlayfs. Others may answer what a server said a minute ago (NFS, SMB)
 * or have no times to trust (FAT, some of FUSE); there files are read at every look.
 */
const TRUSTED_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994, 0x794c7630,
]);

/** What the cache asks of the machine. */
export interface FileAccess {
  /** Which content a path leads to; undefined when it leads nowhere or that cannot be told. */
  version(path: string): Promise<FileVersion | undefined>;
  /** What a file says, and its version; never rejects. */
  read(path: string): Promise<ReadFile>;
  /** Whether versions tell every change of the file there. */
  isTrusted(path: string): Promise<boolean>;
}

/** Remembers texts from one look to the next. */
export interface TextCache {
  /**
   * The texts of all files as they are now, in the order of `paths`; the same objects as before as
   * far as they say the same.
   */
  read(paths: readonly string[]): Promise<ReadonlyMap<string, FileText>>;
}

/**
 * Makes an empty cache. `clock` gives milliseconds since the epoch, by the clock that the file
 * systems use.
 */
export function createTextCache(deps: { readonly clock: () => number; readonly files?: FileAccess }): TextCache {
  return new VersionedTextCache(deps.clock, deps.files ?? NODE_FILES);
}

interface KnownText {
  readonly text: FileText;
  /** Present where the text is the same as long as the version is. */
  readonly version: FileVersion | undefined;
}

class VersionedTextCache implements TextCache {
  readonly #clock: () => number;
  readonly #files: FileAccess;
  #known: ReadonlyMap<string, KnownText> = new Map();
  #texts: ReadonlyMap<string, FileText> = new Map();
  #allReadMs: number | undefined;
  /** When the last look began. */
  #lookedMs = -Infinity;
  /**
   * Whether the file system is trusted, by device; of one look, because what is mounted changes.
   */
  #trust = new Map<bigint, Promise<boolean>>();

  constructor(clock: () => number, files: FileAccess) {
    this.#clock = clock;
    this.#files = files;
  }

  async read(paths: readonly string[]): Promise<ReadonlyMap<string, FileText>> {
    const nowMs = this.#clock();
    const isAllDue = this.#isAllDue(nowMs);
    this.#lookedMs = nowMs;
    this.#trust = new Map();
    const next = new Map<string, KnownText>();
    for (let first = 0; first < paths.length; first += CONCURRENCY) {
      const batch = paths.slice(first, first + CONCURRENCY);
      const files = await Promise.all(batch.map((path) => this.#lookAt(path, isAllDue)));
      files.forEach((file, index) => next.set(batch[index] ?? "", file));
    }
    if (isAllDue) this.#allReadMs = nowMs;
    const isSame =
      next.size === this.#known.size && [...next].every(([path, { text }]) => this.#known.get(path)?.text === text);
    this.#known = next;
    if (!isSame) this.#texts = new Map([...next].map(([path, { text }]) => [path, text]));
    return this.#texts;
  }

  /** Also when the clock was put back: then times of before and after it tell nothing. */
  #isAllDue(nowMs: number): boolean {
    return this.#allReadMs === undefined || nowMs < this.#lookedMs || nowMs >= this.#allReadMs + READ_ALL_MS;
  }

  async #lookAt(path: string, isAllDue: boolean): Promise<KnownText> {
    const known = this.#known.get(path);
    if (!isAllDue && known?.version !== undefined && isSameVersion(known.version, await this.#files.version(path)))
      return known;
    // Before the version is taken: what is written from then on has another time, or is young.
    const nowMs = this.#clock();
    const { text, version } = await this.#files.read(path);
    // Why a file cannot be read may change without the file.
    const isKept =
      text.kind === "text" &&
      version !== undefined &&
      !isYoung(version, nowMs) &&
      (await this.#isTrusted(version.dev, path));
    return {
      text: known !== undefined && isSameText(known.text, text) ? known.text : text,
      version: isKept ? version : undefined,
    };
  }

  #isTrusted(device: bigint, path: string): Promise<boolean> {
    const trust = this.#trust.get(device) ?? this.#files.isTrusted(path);
    this.#trust.set(device, trust);
    return trust;
  }
}

/**
 * By the time that nobody can set: the other one may be anything, because programs that copy files
 * take it along.
 */
function isYoung({ ctimeNs }: FileVersion, nowMs: number): boolean {
  return Number(ctimeNs / 1_000_000n) > nowMs - YOUNG_MS;
}

function isSameVersion(left: FileVersion, right: FileVersion | undefined): boolean {
  return (
    left.ctimeNs === right?.ctimeNs &&
    left.mtimeNs === right.mtimeNs &&
    left.ino === right.ino &&
    left.size === right.size &&
    left.dev === right.dev
  );
}

/** Half the work of the same function of node:fs/promises, which counts with thousands of files. */
const statFile = promisify(stat);

const NODE_FILES: FileAccess = {
  read: readFileText,
  version: async (path) => {
    try {
      return await statFile(path, { bigint: true });
    } catch {
      return undefined; // Reading the file tells why.
    }
  },
  isTrusted: async (path) => {
    try {
      return TRUSTED_FILE_SYSTEMS.has((await statfs(path)).type);
    } catch {
      return false; // Gone meanwhile: it is looked at again anyway.
    }
  },
};
