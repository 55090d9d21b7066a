// What happens to accounts, told to whoever counts it. The metrics implement it; tests pass one
// that forgets.

/** How a login ended. */
export type LoginResult = "success" | "invalid_credentials" | "error";

/** How a refresh ended. */
export type RefreshResult = "issued" | "invalid" | "error";

/** Listener to what happens; its methods must not throw. */
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
