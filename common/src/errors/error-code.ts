// The codes by which the system, Node and its libraries tell errors apart. What a code means to
// people is said where it occurs.

/** The code of an error, such as `ENOENT`; undefined when it has none, or one that is no text. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
