// The settings of sessions: keys, the lives of tokens and sessions, rotation and log-out.
import { formatDurationMs } from "@weir/common/settings/parse-values";
import type { EnvReader } from "@weir/common/settings/read-env";
import { type KeySettings, readKeys } from "./keys.ts";

/** Longest grace after a rotation, in milliseconds: an old token is worth something for that long. */
const GRACE_MAX_MS = 60_000;

/** Everything about sessions. Durations are milliseconds. */
export interface SessionSettings extends KeySettings {
  readonly tokenIssuer: string;
  readonly accessTtlMs: number;
  readonly refreshIdleMs: number;
  readonly refreshAbsoluteMs: number;
  readonly refreshGraceMs: number;
  readonly refreshRotation: boolean;
  readonly logOutAllowsRefresh: boolean;
  readonly maxSessions: number;
}

/** Reads them; what is fit for development only is added to `warnings`. */
export function readSessions(read: EnvReader, isProduction: boolean, warnings: string[]): SessionSettings {
  const settings: SessionSettings = {
    ...readKeys(read, isProduction, warnings),
    tokenIssuer: read.string("TOKEN_ISSUER", {
      default: "weir-account",
      effect: "Issuer of all tokens and audience of access tokens.",
    }),
    accessTtlMs: read.durationMs("ACCESS_TTL", {
      default: "10m",
      minMs: 10_000,
      maxMs: 86_400_000,
      effect: "Life of an access token; each one gets up to 5% less, at random.",
    }),
    refreshIdleMs: read.durationMs("REFRESH_IDLE", {
      default: "7d",
      minMs: 60_000,
      hasDays: true,
      effect: "How long a session lasts after its last refresh.",
    }),
    refreshAbsoluteMs: read.durationMs("REFRESH_ABSOLUTE", {
      default: "30d",
      minMs: 60_000,
      hasDays: true,
      effect: "Longest life of a session after its login.",
    }),
    refreshGraceMs: read.durationMs("REFRESH_GRACE", {
      default: "30s",
      maxMs: GRACE_MAX_MS,
      effect:
        "How long a replaced refresh token still gets the current one, for tabs that refresh together and for lost answers; 0s can log such clients out.",
    }),
    refreshRotation: read.boolean("REFRESH_ROTATION", {
      default: true,
      effect: "Whether each refresh replaces the refresh token; false keeps it, and no theft of it is noticed.",
    }),
    logOutAllowsRefresh: read.boolean("LOGOUT_ALLOW_REFRESH", {
      default: false,
      effect: "Whether the refresh cookie can log out when the access token is expired or missing.",
    }),
    maxSessions: read.integer("MAX_SESSIONS", {
      default: 10,
      min: 1,
      max: 100,
      effect: "Sessions a user may have; a further login ends the least recently used one.",
    }),
  };
  if (settings.refreshIdleMs > settings.refreshAbsoluteMs) {
    const [idle, absolute] = [settings.refreshIdleMs, settings.refreshAbsoluteMs].map(formatDurationMs);
    read.problem("REFRESH_IDLE", idle, `at most REFRESH_ABSOLUTE, which is ${absolute}`);
  }
  return settings;
}
