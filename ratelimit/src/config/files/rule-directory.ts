// Lists the rule files of a directory with their names, and a fingerprint that shows whether there is something new to
// load. Reads no file's content and watches nothing.
import type { BigIntStats } from "node:fs";
import { lstat, readdir, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";

/** Most entries; a directory with more is not one of rule files. */
const ENTRIES_MAX = 10_000;

/**
 * Name that Kubernetes gives the link which it swaps to publish a new version of a mounted
 * ConfigMap.
 */
const CONFIG_MAP_LINK = "..data";

const RULE_FILE = /\.ya?ml$/;

/** The location of rule files, by the settings RUNTIME_*. */
export interface RuleDirectoryOptions {
  /** RUNTIME_ROOT. */
  readonly root: string;
  /** RUNTIME_SUBDIRECTORY; "" for none. */
  readonly subdirectory: string;
  /** RUNTIME_APPDIRECTORY: the folder of the files, below root and subdirectory. */
  readonly appDirectory: string;
  /**
   * RUNTIME_IGNOREDOTFILES: whether files and folders whose name begins with a dot are passed over.
   */
  readonly ignoreDotFiles: boolean;
  /**
   * RUNTIME_WATCH_ROOT: whether a load is due when a link was swapped, or when any file changed.
   */
  readonly watchRoot: boolean;
}

/** A file of the load. */
export interface RuleFileEntry {
  readonly path: string;
  readonly sizeBytes: number;
  /** Path, identity, size and times: a file with the same stamp has not changed. */
  readonly stamp: string;
  /**
   * Its name in errors: its path with dots for slashes, from below root and subdirectory when the
   * root is watched, else from the folder of the files.
   */
  readonly name: string;
}

/** The directory at one moment. */
export interface DirectoryState {
  /** Sorted by path. */
  readonly files: readonly RuleFileEntry[];
  /** Folders in which a change can matter, the folder above the root included. */
  readonly folders: readonly string[];
  /** Entries that an operator may expect to be read, each with the reason why they are not. */
  readonly skipped: ReadonlyMap<string, string>;
  /** Equal fingerprints: nothing happened that asks for a load. */
  readonly fingerprint: string;
  /**
   * Equal contents: the same files, each as it was. Of two looks that differ, either may have seen
   * half of a change.
   */
  readonly content: string;
  /** True if every entry was still there when it was looked at; otherwise the files may belong to two versions. */
  readonly isWhole: boolean;
}

/** The folder that the files are in. */
export function ruleFolder(options: RuleDirectoryOptions): string {
  return join(options.root, options.subdirectory, options.appDirectory);
}

/**
 * Looks at the directory. Fails with the error of the file system when the folder cannot be read;
 * entries that vanish meanwhile are passed over.
 */
export async function readRuleDirectory(options: RuleDirectoryOptions): Promise<DirectoryState> {
  const scan = new Scan(options);
  await scan.walk(ruleFolder(options));
  if (options.watchRoot) await scan.noteSiblings();
  const above = foldersAbove(options);
  const folders = [...above, ...scan.folders];
  const content = scan.stamps.sort().join("\n");
  const fingerprint = options.watchRoot
    ? [...(await identitiesOf([...above, ruleFolder(options)])), ...(await configMapLinksOf(folders))].join("\n")
    : content;
  return {
    files: scan.files.sort((a, b) => (a.path < b.path ? -1 : 1)),
    folders,
    skipped: scan.skipped,
    fingerprint,
    content,
    isWhole: scan.isWhole,
  };
}

/**
 * The folders from the one above the root down to the one above the files: a swap of any of them
 * changes what is read.
 */
function foldersAbove(options: RuleDirectoryOptions): readonly string[] {
  const root = join(options.root, "."); // Without a slash at the end.
  const folders = [dirname(root)];
  const steps = relative(root, ruleFolder(options)).split(sep);
  for (let folder = root; steps.length > 0; folder = join(folder, steps.shift() ?? "")) folders.push(folder);
  return folders.filter((folder, index) => folders.indexOf(folder) === index && folder !== ruleFolder(options));
}

/**
 * Returns the real path and the identity of each folder above the files, and of their own; of one
 * that is a link also which link, so that a swap to the same place counts.
 */
async function identitiesOf(folders: readonly string[]): Promise<string[]> {
  return Promise.all(
    folders.map(async (folder) => {
      const [real, link, identity] = await Promise.all([
        realpath(folder).catch(() => ""),
        lstat(folder).then(
          (found) => (found.isSymbolicLink() ? `${found.ino} ${found.ctimeMs}` : ""),
          () => "",
        ),
        stat(folder).then(
          (found) => `${found.dev}:${found.ino}`,
          () => "",
        ),
      ]);
      return `${folder} ${real} ${link} ${identity}`;
    }),
  );
}

/** Returns the targets of the links of mounted ConfigMaps. */
async function configMapLinksOf(folders: readonly string[]): Promise<string[]> {
  const links = await Promise.all(
    folders.map(async (folder) => readlink(join(folder, CONFIG_MAP_LINK)).catch(() => undefined)),
  );
  return links.flatMap((link, index) => (link === undefined ? [] : [`${folders[index] ?? ""} ${link}`]));
}

class Scan {
  readonly files: RuleFileEntry[] = [];
  readonly folders: string[] = [];
  readonly skipped = new Map<string, string>();
  /**
   * One line per file, with everything that changes when it is written, replaced or given other
   * permissions.
   */
  readonly stamps: string[] = [];
  isWhole = true;
  readonly #options: RuleDirectoryOptions;
  readonly #nameRoot: string;
  #entries = 0;

  constructor(options: RuleDirectoryOptions) {
    this.#options = options;
    this.#nameRoot = options.watchRoot ? join(options.root, options.subdirectory) : ruleFolder(options);
  }

  async walk(folder: string): Promise<void> {
    this.folders.push(folder);
    for (const name of await readdir(folder)) {
      this.#entries += 1;
      if (this.#entries > ENTRIES_MAX) throw new RangeError(`it holds more than ${ENTRIES_MAX} entries`);
      const isHidden = name.startsWith("..") || (this.#options.ignoreDotFiles && name.startsWith("."));
      if (!isHidden) await this.#visit(join(folder, name));
    }
  }

  /** envoyproxy/ratelimit reads `config.d/` and `config.yaml` along with `config/` when it watches the root. */
  async noteSiblings(): Promise<void> {
    const folder = ruleFolder(this.#options);
    const names = await readdir(dirname(folder)).catch(() => []); // Not needed.
    for (const name of names) {
      if (name.startsWith(`${basename(folder)}.`))
        this.skipped.set(join(dirname(folder), name), `it is next to ${folder}, not in it`);
    }
  }

  async #visit(path: string): Promise<void> {
    const found = await statOf(path);
    if (found === undefined) {
      if (await isLink(path)) this.skipped.set(path, "it is a link without a target");
      else this.isWhole = false;
    } else if (found.isDirectory()) await this.#visitFolder(path);
    else if (!found.isFile()) this.skipped.set(path, "it is neither a file nor a folder");
    else if (!RULE_FILE.test(path)) this.skipped.set(path, "its name ends in neither .yaml nor .yml");
    else this.#add(path, found);
  }

  async #visitFolder(path: string): Promise<void> {
    // Following links to folders could go round in circles. A folder of a mounted ConfigMap is a
    // link, too, whose target is skipped by its name.
    const target = await readlink(path).catch(() => undefined);
    if (target === undefined || target.startsWith(`${CONFIG_MAP_LINK}${sep}`)) await this.walk(path);
    else this.skipped.set(path, "it is a link to a folder");
  }

  #add(path: string, found: BigIntStats): void {
    const stamp = `${path} ${found.dev}:${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
    const name = relative(this.#nameRoot, path).replaceAll(sep, ".");
    this.files.push({ path, sizeBytes: Number(found.size), name, stamp });
    this.stamps.push(stamp);
  }
}

async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    // Gone since the folder was listed, or a link to nothing or to itself: the next look finds
    // its result.
    if (["ENOENT", "ELOOP"].includes(errorCode(error) ?? "")) return undefined;
    throw error;
  }
}

async function isLink(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined); // Gone meanwhile: no link any more.
  return found?.isSymbolicLink() === true;
}
