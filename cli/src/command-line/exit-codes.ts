// The exit codes of commands, as in docs/cli.md.

/** No problem. */
export const EXIT_OK = 0;

/** The files have problems, or the rollout is not complete. */
export const EXIT_PROBLEMS = 1;

/** The command line is invalid, or a server does not answer. */
export const EXIT_USAGE = 2;
