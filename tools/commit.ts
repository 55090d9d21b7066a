// The version and the commit that is checked out: what artifacts are named after, and their time.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./run-command.ts";

/** The commit that is checked out. */
export interface Commit {
  readonly hash: string;
  /** Its time, in seconds since the epoch: the time of everything that is built from it. */
  readonly seconds: number;
}

/** The commit that is checked out in the working directory. */
export async function readCommit(): Promise<Commit> {
  const { code, output } = await runCommand(["git", "log", "-1", "--format=%H %ct"]);
  if (code !== 0) throw new Error(`Cannot read the commit: git log ended with ${code}\n${output}`);
  const [hash = "", seconds] = output.trim().split(" ");
  return { hash, seconds: Number(seconds) };
}

/** The version of everything in the repository at `root`: package.json is its one place. */
export function readVersion(root: string): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string }).version;
}
