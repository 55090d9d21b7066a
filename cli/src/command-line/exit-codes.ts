// The exit codes of commands that look at files, as docs/cli.md has them.

/** All is well. */
export const EXIT_OK = 0;

/** Something is wrong with what the command looked at. */
export const EXIT_PROBLEMS = 1;

/** The command line is wrong. */
export const EXIT_USAGE = 2;
