// Reads the codes of errors of the system, Node and its libraries.

/** The code of an error, such as `ENOENT`; undefined when it has none or the code is a number. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
