// Builds an earlier commit of this repository in the cache folder, so that its programs can be measured
// and run next to the current ones. A second use of the same commit builds nothing.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@weir/testing/eventually";
import { toolsFolder } from "@weir/testing/tools";
import { E2eError } from "../errors.ts";
import { ROOT } from "./programs.ts";

/** Longest time in which the previous version is built: packages are installed and compiled, in milliseconds. */
export const BUILD_TIMEOUT_MS = 900_000;

/** Written last, so that an interrupted check-out or build does not count as a complete one. */
const STAMP = ".built";

/** Characters of the commit in the name of its folder. */
const NAME_LENGTH = 12;

/** Workspaces whose programs can be built, with everything that they need. */
export type EarlierWorkspace = "ratelimit" | "control-plane" | "operator" | "account";

/** An earlier commit that can be started. */
export interface EarlierBuild {
  /** Root of its checkout. */
  readonly root: string;
  /** Short name and first line of its message. */
  readonly description: string;
}

/**
 * Builds `workspaces` of the previous version, which e2e/previous.json names; returns the root of its checkout.
 * Several tests may call it at a time: one builds, the others wait.
 */
export async function buildPrevious(
  env: Readonly<Record<string, string | undefined>>,
  ...workspaces: readonly EarlierWorkspace[]
): Promise<string> {
  const { commit } = JSON.parse(readFileSync(join(ROOT, "e2e", "previous.json"), "utf8")) as {
    readonly commit: string;
  };
  const release = await lock(`weir-build-${commit}`);
  try {
    const say = (text: string): void => void process.stderr.write(text);
    return (await buildEarlier(commit, { root: ROOT, env, say, workspaces })).root;
  } finally {
    release();
  }
}

/** Waits for the lock of this name; Linux gives up the abstract socket that holds it when its process ends. */
async function lock(name: string): Promise<() => void> {
  return await eventually(
    `the lock ${name}`,
    async () => {
      const server = createServer();
      await once(server.listen(`\0${name}`), "listening");
      return () => void server.close();
    },
    BUILD_TIMEOUT_MS,
  );
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
  const hash = await findCommit(root, commit);
  const description = await run("git", ["-C", root, "log", "-1", "--format=%h (%s)", hash], root);
  const folder = join(toolsFolder(env), `commit-${hash.slice(0, NAME_LENGTH)}`);
  const stampOf = (workspace: EarlierWorkspace): string => join(folder, `${STAMP}-${workspace}`);
  const missing = workspaces.filter((workspace) => !existsSync(stampOf(workspace)));
  if (missing.length === 0) return { root: folder, description };
  say(`Building ${missing.join(", ")} of ${description} in ${folder}\n`);
  if (!existsSync(join(folder, STAMP))) await checkOut(root, hash, folder);
  const projects = missing.map((workspace) => join(workspace, "tsconfig.build.json"));
  await run(join(folder, "node_modules", ".bin", "tsc"), ["-b", ...projects], folder);
  for (const workspace of missing) writeFileSync(stampOf(workspace), "");
  return { root: folder, description };
}

/** The hash of a commit of the repository. */
async function findCommit(root: string, commit: string): Promise<string> {
  try {
    return await run("git", ["-C", root, "rev-parse", "--verify", "--quiet", `${commit}^{commit}`], root);
  } catch (cause) {
    const isShallow = await run("git", ["-C", root, "rev-parse", "--is-shallow-repository"], root).catch(() => "false");
    const remedy = isShallow === "true" ? "the clone is shallow, run git fetch --unshallow" : "fetch it first";
    const message = `Cannot compare with '${commit}': this repository has no such commit; ${remedy}`;
    throw new E2eError("BENCHMARK_FAILED", message, { cause });
  }
}

/** Checks the commit out in `folder` with its packages. */
async function checkOut(root: string, hash: string, folder: string): Promise<void> {
  // Also removes the registration of a checkout whose folder was deleted.
  rmSync(folder, { recursive: true, force: true });
  await run("git", ["-C", root, "worktree", "prune"], root);
  mkdirSync(dirname(folder), { recursive: true });
  await run("git", ["-C", root, "worktree", "add", "--detach", "--force", folder, hash], root);
  await run("npm", ["ci", "--prefer-offline", "--loglevel=error"], folder);
  writeFileSync(join(folder, STAMP), "");
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { cwd, maxBuffer: 1 << 24 });
    return stdout.trim();
  } catch (cause) {
    const { stdout = "", stderr = "" } = cause as { stdout?: string; stderr?: string };
    const reason = `${stdout}${stderr}`.trim();
    const message = `Cannot build the earlier commit: ${command} ${args.join(" ")} failed: ${reason}`;
    throw new E2eError("BENCHMARK_FAILED", message, { cause });
  }
}
