// The dependencies of the calls on accounts. service.ts builds them once.
import type { KeyObject } from "node:crypto";
import type { Log } from "@weir/common/log/log";
import type { MediaStore } from "../media/media-store.ts";
import type { RotationLimits } from "../sessions/rotation.ts";
import type { Device, SessionLimits } from "../sessions/session-records.ts";
import type { Tokens } from "../sessions/tokens.ts";
import type { UserStore } from "../store/user-store.ts";
import type { AccountEvents } from "./account-events.ts";
import type { PasswordHasher } from "./password-hasher.ts";

/** The dependencies. */
export interface AccountDeps {
  readonly store: UserStore;
  readonly media: MediaStore;
  readonly hasher: PasswordHasher;
  readonly tokens: Tokens;
  readonly events: AccountEvents;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** A new random UUID. */
  readonly newId: () => string;
  /** 128 new random bits as 32 hexadecimal digits. */
  readonly newMediaName: () => string;
  /** A number from 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** The key that the ids of refresh tokens are made with: the signing key of the moment. */
  readonly idKey: () => KeyObject;
  /** The key that labels of accounts are made with. */
  readonly labelKey: KeyObject;
}

/** Bounds of sessions and tokens. */
export interface AccountOptions extends SessionLimits, RotationLimits {
  readonly accessTtlMs: number;
}

/** The caller. */
export interface Caller {
  readonly device: Device;
  /** Network of the address, of users/address-prefix.ts: what limits count by. */
  readonly addressPrefix: string;
  /** A log whose lines carry the request's id. */
  readonly log: Log;
}
