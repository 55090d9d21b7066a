// Builds an earlier commit of this repository in the cache folder, so that its programs can be measured
// and run next to the current ones. A second use of the same commit builds nothing.
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { earlierFiles, previousVersion } from "./earlier-commit.ts";
import { ROOT } from "../processes/programs.ts";
import { withLock } from "../processes/with-lock.ts";

/** Longest time in which the previous version is built: packages are installed and compiled, in milliseconds. */
export const BUILD_TIMEOUT_MS = 900_000;

/** Written last, so that an interrupted installation or build does not count as a complete one. */
const STAMP = ".built";

/** Workspaces whose programs can be built, with everything that they need. */
export type EarlierWorkspace = "ratelimit" | "control-plane" | "operator" | "account" | "cli";

/** An earlier commit that can be started. */
export interface EarlierBuild {
  /** Root of its files. */
  readonly root: string;
  /** Short name and first line of its message. */
  readonly description: string;
}

/**
 * Builds `workspaces` of the previous version; returns the root of its files.
 * Several tests may call it at a time: one builds, the others wait.
 */
export async function buildPrevious(
  env: Readonly<Record<string, string | undefined>>,
  ...workspaces: readonly EarlierWorkspace[]
): Promise<string> {
  const commit = await previousVersion(ROOT);
  return await withLock(`weir-build-${commit}`, BUILD_TIMEOUT_MS, async () => {
    const say = (text: string): void => void process.stderr.write(text);
    return (await buildEarlier(commit, { root: ROOT, env, say, workspaces })).root;
  });
}

/**
 * Builds `workspaces` (by default the rate limit service) of `commit` of the repository at `root`,
 * unless the cache has them. Calls `say` before what takes time.
 */
export async function buildEarlier(
  commit: string,
  options: {
    readonly root: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly say: (text: string) => void;
    readonly workspaces?: readonly EarlierWorkspace[];
  },
): Promise<EarlierBuild> {
  const { root, env, say, workspaces = ["ratelimit"] } = options;
  const { hash, folder } = await earlierFiles(commit, { root, env }).catch((cause: unknown) => {
    throw new Error(cause instanceof Error ? cause.message : String(cause), { cause });
  });
  const description = await run("git", ["-C", root, "log", "-1", "--format=%h (%s)", hash], root);
  const stampOf = (workspace: EarlierWorkspace): string => join(folder, `${STAMP}-${workspace}`);
  const missing = workspaces.filter((workspace) => !existsSync(stampOf(workspace)));
  if (missing.length === 0) return { root: folder, description };
  say(`Building ${missing.join(", ")} of ${description} in ${folder}\n`);
  if (!existsSync(join(folder, STAMP))) {
    await run("npm", ["ci", "--prefer-offline", "--loglevel=error"], folder);
    writeFileSync(join(folder, STAMP), "");
  }
  const projects = missing.map((workspace) => join(workspace, "tsconfig.build.json"));
  await run(join(folder, "node_modules", ".bin", "tsc"), ["-b", ...projects], folder);
  for (const workspace of missing) writeFileSync(stampOf(workspace), "");
  return { root: folder, description };
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, maxBuffer: 1 << 24 });
    return stdout.trim();
  } catch (cause) {
    const { stdout = "", stderr = "" } = cause as { stdout?: string; stderr?: string };
    const reason = `${stdout}${stderr}`.trim();
    const message = `Cannot build the earlier commit: ${command} ${args.join(" ")} failed: ${reason}`;
    throw new Error(message, { cause });
  }
}
