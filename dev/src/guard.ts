// The last resort of the local stack: a tiny shell process that kills the programs of the stack
// when the process that started them is gone without having done so itself (killed with SIGKILL,
// out of memory, a crash of the runtime). It knows of that end because the pipe to its standard
// input closes.
import { spawn } from "node:child_process";

/**
 * Reads process group numbers line by line; at the end of the input kills all of them, unless
 * "release" was read.
 */
const GUARD_SCRIPT = `
groups=""
while read -r line; do
  case $line in
    release) exit 0 ;;
    *) groups="$groups $line" ;;
  esac
done
for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
`;

/** Kills what it watches when this process ends without releasing it. */
export interface Guard {
  /** Adds a process group to those to be killed. */
  watch(pid: number): void;
  /** Everything has been stopped in good order: the guard ends and kills nothing. */
  release(): void;
}

/**
 * Starts the guard, in a process group of its own so that no Ctrl-C ends it before its work is
 * done.
 */
export function startGuard(env: Readonly<Record<string, string>>): Guard {
  const child = spawn("/bin/sh", ["-c", GUARD_SCRIPT], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    env: { ...env },
  });
  // Without a guard the stack still stops everything in all ordinary cases, so a guard that cannot
  // start or is gone is no reason to end.
  child.once("error", ignoreMissingGuard);
  child.stdin.on("error", ignoreMissingGuard);
  child.unref();
  return {
    watch: (pid) => void child.stdin.write(`${pid}\n`),
    release: () => child.stdin.end("release\n"),
  };
}

function ignoreMissingGuard(): void {
  // See startGuard(): nothing to do, and nothing a person could do.
}
