// Finds and reads the files that a command line names.
import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

/** Most files of one run; more means that the wrong directory was named. */
const FILES_MAX = 10_000;

/** Deepest folder below a named directory. */
const DEPTH_MAX = 32;

/**
 * Endings of the files that are taken from a directory, as the control plane has it; a file that is
 * named itself may end as it likes.
 */
const FILE_ENDING = /\.(ya?ml|json)$/;

/** Skipped by the control plane, too: the versions behind a mounted ConfigMap, locks of editors. */
const SKIPPED_NAME = /^\.[.#]/;

/** Name of standard input on the command line. */
const STANDARD_INPUT = "-";

/** A file or standard input, as far as reading goes. */
export type InputStream = AsyncIterable<Uint8Array>;

/** A file that was read, or the reason why it was not. */
export type InputFile =
  { readonly path: string; readonly text: string } | { readonly path: string; readonly unreadable: string };

/**
 * Reads what the paths name, directories in the order of their names. At most `sizeMaxBytes` are
 * read of each; more is a reason not to. The same file or folder is read once, however often it is
 * named or linked.
 */
export async function readInputFiles(
  paths: readonly string[],
  from: { readonly stdin: () => InputStream; readonly sizeMaxBytes: number },
): Promise<readonly InputFile[]> {
  const search = new FileSearch();
  for (const path of paths) await search.findAt(path);
  const files: InputFile[] = [];
  for (const entry of search.found) files.push(typeof entry === "string" ? await readInput(entry, from) : entry);
  return files;
}

/**
 * The bytes of a stream; undefined when there are more than `sizeMaxBytes`, and then no more are
 * read: a path may lead to a device or a pipe without end. Rejects as the stream does.
 */
export async function readBounded(stream: InputStream, sizeMaxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    if (sizeBytes > sizeMaxBytes) return undefined;
  }
  return Buffer.concat(chunks);
}

/** Finds the files that paths name, each once. */
class FileSearch {
  /** Paths still to be read, and what cannot be. */
  readonly found: (string | InputFile)[] = [];
  /** Real paths of the files and folders that were found. */
  readonly #seen = new Set<string>();

  /** Finds the file or the files of the folder that a path of the command line names. */
  async findAt(path: string): Promise<void> {
    const foundBefore = this.found.length;
    if (path === STANDARD_INPUT) {
      if (!this.found.includes(path)) this.found.push(path);
    } else if (!(await this.#find(path, DEPTH_MAX, true)) && this.found.length === foundBefore)
      this.#report(path, "the directory has no .yaml, .yml or .json file");
  }

  /** Finds a file or those below a folder; true when any exists, also one that was found before. */
  async #find(path: string, depthLeft: number, isNamed = false): Promise<boolean> {
    try {
      // Follows links, as a mounted ConfigMap is made of them.
      const status = await stat(path);
      if (status.isDirectory()) return (await this.#wasSeen(path)) ? isNamed : await this.#findBelow(path, depthLeft);
      // Pipes and devices, which may have no end, are read only when they are named themselves.
      if (!isNamed && !(status.isFile() && FILE_ENDING.test(path))) return false;
      if (!(await this.#wasSeen(path))) this.found.push(path);
      return true;
    } catch (error) {
      // A link without a target matters only when its name is that of a manifest.
      const isGone = (error as NodeJS.ErrnoException).code === "ENOENT";
      if (isNamed || !isGone || FILE_ENDING.test(path)) this.#report(path, reasonOf(error));
      return false;
    }
  }

  async #findBelow(folder: string, depthLeft: number): Promise<boolean> {
    if (depthLeft === 0) {
      this.#report(folder, `folders nest deeper than ${DEPTH_MAX} levels`);
      return true;
    }
    let holdsAny = false;
    for (const name of (await readdir(folder)).toSorted()) {
      const path = join(folder, name);
      if (SKIPPED_NAME.test(name)) continue;
      if (this.found.length >= FILES_MAX) {
        if (this.found.length === FILES_MAX)
          this.#report(path, `more than ${FILES_MAX} files are named, the rest is left out`);
        return true;
      }
      if (await this.#find(path, depthLeft - 1)) holdsAny = true;
    }
    return holdsAny;
  }

  async #wasSeen(path: string): Promise<boolean> {
    // Pipes have no real path, such as the one behind the path that a shell makes of <(command).
    const identity = await realpath(path).catch(() => path);
    const isKnown = this.#seen.has(identity);
    this.#seen.add(identity);
    return isKnown;
  }

  #report(path: string, unreadable: string): void {
    this.found.push({ path, unreadable });
  }
}

async function readInput(
  path: string,
  from: { readonly stdin: () => InputStream; readonly sizeMaxBytes: number },
): Promise<InputFile> {
  try {
    const stream = path === STANDARD_INPUT ? from.stdin() : (createReadStream(path) as InputStream);
    const bytes = await readBounded(stream, from.sizeMaxBytes);
    if (bytes === undefined)
      return { path, unreadable: `the file is larger than the ${from.sizeMaxBytes} bytes that are read` };
    return { path, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    return { path, unreadable: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "no such file or directory",
    EACCES: "permission denied",
    EISDIR: "is a directory",
    ELOOP: "too many symbolic links",
    ERR_ENCODING_INVALID_ENCODED_DATA: "the file is not UTF-8 text",
  };
  return (code === undefined ? undefined : reasons[code]) ?? (error instanceof Error ? error.message : String(error));
}
