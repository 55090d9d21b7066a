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
  const search: Search = { found: [], seen: new Set() };
  for (const path of paths) await findAt(path, search);
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

/** State of a search. */
interface Search {
  /** Paths still to be read, and what cannot be. */
  readonly found: (string | InputFile)[];
  /** Real paths of the files and folders that were found. */
  readonly seen: Set<string>;
}

async function findAt(path: string, search: Search): Promise<void> {
  const foundBefore = search.found.length;
  if (path === STANDARD_INPUT) {
    if (!search.found.includes(path)) search.found.push(path);
    return;
  }
  try {
    const isFolder = (await stat(path)).isDirectory();
    if (await wasSeen(path, search)) return;
    if (!isFolder) search.found.push(path);
    else if (!(await findBelow(path, DEPTH_MAX, search)) && search.found.length === foundBefore) {
      search.found.push({ path, unreadable: "the directory holds no .yaml, .yml or .json file" });
    }
  } catch (error) {
    search.found.push({ path, unreadable: reasonOf(error) });
  }
}

/** Finds the files below a folder; true when any is there, also one that was found before. */
async function findBelow(folder: string, depthLeft: number, search: Search): Promise<boolean> {
  if (depthLeft === 0) {
    search.found.push({ path: folder, unreadable: `folders nest deeper than ${DEPTH_MAX} levels` });
    return true;
  }
  let holdsAny = false;
  for (const name of (await readdir(folder)).toSorted()) {
    const path = join(folder, name);
    if (SKIPPED_NAME.test(name)) continue;
    if (search.found.length > FILES_MAX) return true;
    if (search.found.length === FILES_MAX) {
      search.found.push({ path, unreadable: `more than ${FILES_MAX} files are named, the rest is left out` });
      return true;
    }
    try {
      // Follows links, as a mounted ConfigMap is made of them.
      const found = await stat(path);
      const isFolder = found.isDirectory();
      // Pipes and devices, which may have no end, are read only when they are named themselves.
      if (!isFolder && !(found.isFile() && FILE_ENDING.test(name))) continue;
      if (await wasSeen(path, search)) holdsAny ||= !isFolder;
      else if (isFolder) holdsAny = (await findBelow(path, depthLeft - 1, search)) || holdsAny;
      else {
        search.found.push(path);
        holdsAny = true;
      }
    } catch (error) {
      // A link to nowhere is none of our business unless its name says so.
      const isGone = (error as NodeJS.ErrnoException).code === "ENOENT";
      if (!isGone || FILE_ENDING.test(name)) search.found.push({ path, unreadable: reasonOf(error) });
    }
  }
  return holdsAny;
}

async function wasSeen(path: string, search: Search): Promise<boolean> {
  // Pipes have none, such as the one behind the path that a shell makes of <(command).
  const identity = await realpath(path).catch(() => path);
  const isKnown = search.seen.has(identity);
  search.seen.add(identity);
  return isKnown;
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
