// Builds an earlier commit of this repository in the cache folder, so that its service can be measured
// too. A second comparison with the same commit builds nothing.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { E2eError } from "../../errors.ts";

/** Written last, so that an interrupted build does not count as a complete one. */
const STAMP = ".built";

/** Characters of the commit in the name of its folder. */
const NAME_LENGTH = 12;

/** What is built: the service and what it needs, nothing else. */
const PROJECT = join("ratelimit", "tsconfig.build.json");

/** An earlier commit that can be started. */
export interface EarlierBuild {
  /** Root of its checkout. */
  readonly root: string;
  /** Short name and first line of its message. */
  readonly description: string;
}

/**
 * Builds `commit` of the repository at `root`, unless the cache has it. Calls `say` before what takes
 * time.
 */
export async function buildEarlier(
  commit: string,
  options: {
    readonly root: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly say: (text: string) => void;
  },
): Promise<EarlierBuild> {
  const { root, env, say } = options;
  const hash = await run("git", ["-C", root, "rev-parse", "--verify", "--quiet", `${commit}^{commit}`], root).catch(
    (cause: unknown) => {
      const message = `Cannot compare with '${commit}': this repository has no such commit; fetch it first`;
      throw new E2eError("BENCHMARK_FAILED", message, { cause });
    },
  );
  const description = await run("git", ["-C", root, "log", "-1", "--format=%h (%s)", hash], root);
  const folder = join(cacheFolder(env), `commit-${hash.slice(0, NAME_LENGTH)}`);
  if (existsSync(join(folder, STAMP))) return { root: folder, description };
  say(`Building ${description} in ${folder}\n`);
  // Also removes the registration of a checkout whose folder was deleted.
  rmSync(folder, { recursive: true, force: true });
  await run("git", ["-C", root, "worktree", "prune"], root);
  mkdirSync(cacheFolder(env), { recursive: true });
  await run("git", ["-C", root, "worktree", "add", "--detach", "--force", folder, hash], root);
  await run("npm", ["ci", "--loglevel=error"], folder);
  await run(join(folder, "node_modules", ".bin", "tsc"), ["-b", PROJECT], folder);
  writeFileSync(join(folder, STAMP), "");
  return { root: folder, description };
}

/** The folder where what is built or fetched is kept between runs. */
function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  const base = env["XDG_CACHE_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "weir");
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
