// The events of accounts. The metrics implement the interface; tests pass one that ignores them.

/** How a login ended. */
export type LoginResult = "success" | "invalid_credentials" | "error";

/**
 * How a refresh ended: `grace` repeated the current token, `reuse` met an old one, `issued` kept the
 * token because rotation is off.
 */
export type RefreshResult = "rotated" | "grace" | "issued" | "reuse" | "invalid" | "error";

/** Listens to events; its methods must not throw. */
export interface AccountEvents {
  /** A login ended. */
  loggedIn(result: LoginResult): void;
  /** A refresh ended. */
  refreshed(result: RefreshResult): void;
  /** A user was stored. */
  registered(): void;
  /** An image was stored, in so many seconds. */
  mediaStored(seconds: number): void;
  /** An image stays behind that no user points to. */
  mediaOrphaned(): void;
}
