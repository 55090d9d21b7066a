// Where the programs of a Kubernetes control plane are. They are built on the first call on a
// machine and kept in the cache folder.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Longest time of a first build, in milliseconds. */
const BUILD_TIMEOUT_MS = 40 * 60_000;

/** The folder of the programs, which are built if they are not there; fails with what the build said. */
export async function kubernetesPrograms(): Promise<string> {
  const script = join(import.meta.dirname, "../../kubernetes/build.sh");
  const { stdout } = await promisify(execFile)("sh", [script], { timeout: BUILD_TIMEOUT_MS });
  return stdout.trim();
}
