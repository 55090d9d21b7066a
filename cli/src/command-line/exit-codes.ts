// The exit codes of commands that read files, as in docs/cli.md.

/** No problem. */
export const EXIT_OK = 0;

/** The files have problems. */
export const EXIT_PROBLEMS = 1;

/** The command line is invalid. */
export const EXIT_USAGE = 2;
