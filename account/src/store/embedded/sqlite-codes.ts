// The result codes of SQLite that the store distinguishes (https://www.sqlite.org/rescode.html).

const SQLITE_BUSY = 5;
const SQLITE_CONSTRAINT = 19;
const SQLITE_CONSTRAINT_UNIQUE = 2067;

/** The low byte of an extended code is its primary code. */
const PRIMARY_CODE_MASK = 0xff;

/** Returns true if another connection has the lock that the statement needs. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY;
}

/** Returns true if the values of the statement break a rule of the table. */
export function isConstraint(error: unknown): boolean {
  return primaryCode(error) === SQLITE_CONSTRAINT;
}

/** Returns true if the values repeat one that must be unique; a repeated primary key has another code. */
export function isUniqueConflict(error: unknown): boolean {
  return resultCode(error) === SQLITE_CONSTRAINT_UNIQUE;
}

/** Returns true if SQLite failed, and not the code that called it. */
export function isSqliteError(error: unknown): boolean {
  return resultCode(error) !== undefined;
}

function primaryCode(error: unknown): number | undefined {
  const code = resultCode(error);
  return code === undefined ? undefined : code & PRIMARY_CODE_MASK;
}

function resultCode(error: unknown): number | undefined {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : undefined;
}
