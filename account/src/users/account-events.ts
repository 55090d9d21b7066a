// The events of accounts. The metrics implement the interface; tests pass one that ignores them.

/**
 * How a call failed that may succeed otherwise: by its input or session, by too many calls, because too
 * much work waits, by a fault of the service or of what it needs.
 */
export type FailureResult = "invalid" | "throttled" | "busy" | "fault";

/** How a registration ended. */
export type RegistrationResult = "success" | "email_taken" | FailureResult;

/** How a login ended. */
export type LoginResult = "success" | "invalid_credentials" | FailureResult;

/**
 * How a refresh ended: `grace` repeated the current token, `reuse` met an old one, `issued` kept the
 * token because rotation is off.
 */
export type RefreshResult = "rotated" | "grace" | "issued" | "reuse" | FailureResult;

/**
 * Listens to what succeeds; the answers count the failures. Its methods
 * must not throw.
 */
export interface AccountEvents {
  /** A user logged in. */
  loggedIn(): void;
  /** A session was refreshed. */
  refreshed(result: Exclude<RefreshResult, FailureResult>): void;
  /** A user was stored. */
  registered(): void;
  /** An image was stored, in so many seconds. */
  mediaStored(seconds: number): void;
}
