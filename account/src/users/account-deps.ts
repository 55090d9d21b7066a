// The dependencies of the calls on accounts. service.ts builds them once.
import type { KeyObject } from "node:crypto";
import type { CallerGroup } from "@weir/common/callers/caller-group";
import type { Log } from "@weir/common/log/log";
import type { MediaStore } from "../media/media-store.ts";
import type { RotationLimits } from "../sessions/rotation.ts";
import type { Device, SessionLimits } from "../sessions/session-records.ts";
import type { Tokens } from "../sessions/tokens.ts";
import type { UserStore } from "../store/user-store.ts";
import type { AccountEvents } from "./account-events.ts";
import type { PasswordHasher } from "../passwords/password-hasher.ts";

/** The dependencies. */
export interface AccountDeps {
  readonly store: UserStore;
  readonly media: Pick<MediaStore, "put" | "remove" | "url">;
  readonly hasher: PasswordHasher;
  readonly tokens: Tokens;
  readonly events: AccountEvents;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Random id of this process: of the clock that gives the times. */
  readonly processId: string;
  /** A new random UUID. */
  readonly newId: () => string;
  /** 128 new random bits as 32 hexadecimal digits. */
  readonly newMediaName: () => string;
  /** A number from 0 to 1, 1 excluded. */
  readonly random: () => number;
  /** The key that labels of accounts are made with. */
  readonly labelKey: KeyObject;
}

/** Bounds of sessions and tokens. */
export interface AccountOptions extends SessionLimits, RotationLimits {
  readonly accessTtlMs: number;
}

export interface Caller {
  readonly device: Device;
  /** The group of callers that share its limits, its turns in queues, and what it may hold. */
  readonly group: CallerGroup;
  /** A log whose lines carry the request's id. */
  readonly log: Log;
}
