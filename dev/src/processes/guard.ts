// A shell process that kills the programs of the stack when the process that started them ends
// without doing so (SIGKILL, out of memory, a crash of the runtime): its standard input then closes.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Writable } from "node:stream";

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

/** Kills the groups it watches when this process ends without releasing it. */
export class Guard {
  readonly #child: ChildProcessByStdio<Writable, null, null>;

  /** Starts the guard, in a process group of its own so that a Ctrl-C does not end it too early. */
  constructor(env: Readonly<Record<string, string>>) {
    this.#child = spawn("/bin/sh", ["-c", GUARD_SCRIPT], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      env: { ...env },
    });
    // Without a guard the stack still stops everything in all ordinary cases, so a guard that cannot
    // start or has ended is no reason to end.
    this.#child.once("error", () => undefined);
    this.#child.stdin.on("error", () => undefined);
    this.#child.unref();
  }

  /** Adds a process group to those to be killed. */
  watch(group: number): void {
    this.#child.stdin.write(`${group}\n`);
  }

  /** Ends the guard and kills nothing: everything has been stopped. */
  release(): void {
    this.#child.stdin.end("release\n");
  }
}
