// Finds and reads the files that a command line names. What is in them is not looked at here.
import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

/** Most files of one run; more means that the wrong directory was named. */
const FILES_MAX = 10_000;

/** Deepest folder below a named directory. */
const DEPTH_MAX = 32;

/** Endings of the files that are taken from a directory; a file that is named itself may end as it likes. */
const FILE_ENDING = /\.(ya?ml|json)$/i;

/** Name of standard input on the command line. */
const STANDARD_INPUT = "-";

/** A file that was read, or the reason why it was not. */
export type InputFile = { readonly path: string; readonly text: string } | { readonly path: string; readonly unreadable: string };

/** Standard input, as far as reading goes. */
export type InputStream = AsyncIterable<Uint8Array>;

/**
 * Reads what the paths name, directories in the order of their names. At most `sizeMaxBytes` are read of each; more is a reason not to. The same file
 * is read once, however often it is named.
 */
export async function readInputFiles(
  paths: readonly string[],
  from: { readonly stdin: () => InputStream; readonly sizeMaxBytes: number },
): Promise<readonly InputFile[]> {
  const found: (InputFile | string)[] = [];
  for (const path of paths) found.push(...(path === STANDARD_INPUT ? [path] : await filesAt(path, DEPTH_MAX)));
  const seen = new Set<string>();
  const files: InputFile[] = [];
  for (const entry of found) {
    if (typeof entry !== "string") {
      files.push(entry);
      continue;
    }
    const identity = entry === STANDARD_INPUT ? entry : await identityOf(entry);
    if (seen.has(identity)) continue;
    seen.add(identity);
    if (seen.size > FILES_MAX)
      return [...files, { path: entry, unreadable: `more than ${FILES_MAX} files are named, the rest is left out` }];
    files.push(await readInput(entry, from));
  }
  return files;
}

async function filesAt(path: string, depthLeft: number): Promise<readonly (InputFile | string)[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const found = await filesBelow(path, depthLeft);
    return found.length > 0 ? found : [{ path, unreadable: "the directory holds no .yaml, .yml or .json file" }];
  } catch (error) {
    return [{ path, unreadable: reasonOf(error) }];
  }
}

async function filesBelow(folder: string, depthLeft: number): Promise<readonly (InputFile | string)[]> {
  if (depthLeft === 0) return [{ path: folder, unreadable: `folders nest deeper than ${DEPTH_MAX} levels` }];
  const names = (await readdir(folder)).filter((name) => !name.startsWith(".")).toSorted();
  const found: (InputFile | string)[] = [];
  for (const name of names) {
    const path = join(folder, name);
    try {
      // Follows links, as a mounted ConfigMap is made of them.
      if ((await stat(path)).isDirectory()) found.push(...(await filesBelow(path, depthLeft - 1)));
      else if (FILE_ENDING.test(name)) found.push(path);
    } catch (error) {
      found.push({ path, unreadable: reasonOf(error) });
    }
    if (found.length > FILES_MAX) break;
  }
  return found;
}

async function identityOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return path; // Gone meanwhile: reading it says so.
  }
}

async function readInput(path: string, from: { readonly stdin: () => InputStream; readonly sizeMaxBytes: number }): Promise<InputFile> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    const stream = path === STANDARD_INPUT ? from.stdin() : (createReadStream(path) as InputStream);
    for await (const chunk of stream) {
      chunks.push(chunk);
      sizeBytes += chunk.byteLength;
      if (sizeBytes > from.sizeMaxBytes)
        return { path, unreadable: `the file is larger than the ${from.sizeMaxBytes} bytes that are read` };
    }
    return { path, text: new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)) };
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
