// Binds processes to the test that starts them: the kernel kills them when it ends, even by SIGKILL.

/** Of util-linux; in full, because not each program gets a PATH. */
const SETPRIV = "/usr/bin/setpriv";

/**
 * The command line that runs `command` as the same process and binds it to the thread that starts it (prctl(2),
 * PR_SET_PDEATHSIG). A program that changes its user is no longer bound.
 */
export function boundCommand(command: string, args: readonly string[] = []): [string, readonly string[]] {
  return [SETPRIV, ["--pdeathsig", "KILL", "--", command, ...args]];
}
