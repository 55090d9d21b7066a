// Files of earlier commits of this repository, from its history; in the cache folder, once per commit.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { toolsFolder } from "../processes/tools.ts";

/** Characters of the commit in the name of its folder. */
const NAME_LENGTH = 12;

const RELEASE_TAGS = "v[0-9]*";

/** An earlier commit whose files are there. */
export interface EarlierCommit {
  readonly hash: string;
  /** Root of its files. */
  readonly folder: string;
}

/**
 * The previous version of the repository at `root`: the last release before the present commit, else what
 * `e2e/previous.json` names.
 */
export async function previousVersion(root: string): Promise<string> {
  const describe = ["describe", "--tags", "--abbrev=0", "--match", RELEASE_TAGS, "HEAD^"];
  const tag = await git(root, describe).catch(() => undefined); // No tag, or a clone without history.
  if (tag !== undefined) return tag;
  const previous = JSON.parse(readFileSync(join(root, "e2e", "previous.json"), "utf8")) as { readonly commit: string };
  return previous.commit;
}

/** Extracts the files of a commit, or only those of one `path`, unless the cache has them. Throws without the commit. */
export async function earlierFiles(
  commit: string,
  options: {
    readonly root: string;
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly path?: string;
  },
): Promise<EarlierCommit> {
  const { root, env, path } = options;
  const hash = await findCommit(root, commit);
  const cache = toolsFolder(env);
  const name = `commit-${hash.slice(0, NAME_LENGTH)}`;
  const folder = join(cache, path === undefined ? name : `${name}-${path}`);
  if (existsSync(folder)) return { hash, folder };
  mkdirSync(cache, { recursive: true });
  const incomplete = mkdtempSync(join(cache, "extracting-"));
  try {
    const [archive, files] = [join(incomplete, "archive.tar"), join(incomplete, "files")];
    mkdirSync(files);
    await git(root, ["archive", "--output", archive, hash, ...(path === undefined ? [] : [path])]);
    await promisify(execFile)("tar", ["-xf", archive, "-C", files]);
    // Another process may have done the same meanwhile; then its files are there, and complete.
    try {
      renameSync(files, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  } finally {
    rmSync(incomplete, { recursive: true, force: true });
  }
  return { hash, folder };
}

/** The hash of a commit of the repository. */
async function findCommit(root: string, commit: string): Promise<string> {
  try {
    return await git(root, ["rev-parse", "--verify", "--quiet", `${commit}^{commit}`]);
  } catch (cause) {
    const isShallow = await git(root, ["rev-parse", "--is-shallow-repository"]).catch(() => "false");
    const remedy = isShallow === "true" ? "the clone is shallow, run git fetch --unshallow" : "fetch it first";
    throw new Error(`Cannot find '${commit}': this repository has no such commit; ${remedy}`, { cause });
  }
}

async function git(root: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("git", ["-C", root, ...args]);
  return stdout.trim();
}
