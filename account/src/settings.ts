// The settings of weir-account: every environment variable with its default and effect, read once
// into one frozen object.
import { availableParallelism } from "node:os";
import { type LogFormat, type LogLevel, readLogSettings } from "@weir/common/log/log";
import { formatDurationMs } from "@weir/common/settings/parse-values";
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";
import type { Secret } from "@weir/common/settings/secret";
import { readTracingSettings, type TracingSettings } from "@weir/common/tracing/tracing";
import type { CookieOptions } from "./sessions/cookies.ts";
import { type KeySource, readKeySource } from "./settings-keys.ts";
import { type ListenerSettings, readListeners } from "./settings-listeners.ts";
import { type OriginSettings, readOrigins } from "./settings-origins.ts";

/** Longest wait that a timer takes, in milliseconds; used for drains. */
const DRAIN_MAX_MS = 3_600_000;

/** Least cost of bcrypt in production (OWASP Password Storage Cheat Sheet). */
const PRODUCTION_COST_MIN = 10;

/**
 * Threads of libuv's pool when UV_THREADPOOL_SIZE is not set (libuv documentation, "Thread pool
 * work scheduling").
 */
const THREADS_DEFAULT = 4;

/** Everything that can be set. Durations are milliseconds. */
export interface Settings extends OriginSettings, ListenerSettings {
  readonly isProduction: boolean;
  readonly storage: StorageSettings;
  readonly dataDirectory: string;
  readonly keys: KeySource;
  readonly tokenIssuer: string;
  readonly accessTtlMs: number;
  readonly refreshIdleMs: number;
  readonly refreshAbsoluteMs: number;
  readonly maxSessions: number;
  readonly cookies: CookieOptions;
  readonly passwordMinLength: number;
  readonly bcryptCost: number;
  readonly bcryptConcurrency: number;
  readonly passwordPepper: Secret | undefined;
  readonly avatarMaxBytes: number;
  readonly avatarRequired: boolean;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly tracing: TracingSettings;
  readonly shutdownDrainMs: number;
  readonly shutdownGraceMs: number;
  /** Settings that are fit for development only, in sentences for the log. */
  readonly warnings: readonly string[];
}

/** Reads the settings; throws one SettingsError that lists every problem. */
export function parseSettings(env: Env): Settings {
  return settingsFrom(env, readSettings);
}

/** The table of all settings, for --help and the documentation. */
export function describeSettings(): readonly SettingRow[] {
  return settingRowsOf(readSettings);
}

function readSettings(read: EnvReader): Settings {
  const environment = read.optionalString("NODE_ENV", {
    effect: "With production, everything that is fit for development only is refused.",
  });
  const isProduction = environment === "production";
  const warnings: string[] = [];
  const listeners = readListeners(read, isProduction);
  const storage = readStorage(read, isProduction, warnings);
  return {
    isProduction,
    ...listeners,
    storage,
    ...readOrigins(read, { isProduction, isMediaLocal: storage.media === "local" }, warnings),
    dataDirectory: read.string("DATA_DIR", {
      default: "./data",
      effect: "Folder of the embedded store, the local media and generated secrets.",
    }),
    ...readTokens(read, isProduction, warnings),
    cookies: readCookieOptions(read, isProduction, warnings),
    ...readPasswords(read, isProduction),
    avatarMaxBytes: read.sizeBytes("AVATAR_MAX_BYTES", {
      default: 2_097_152,
      min: 1024,
      max: 33_554_432,
      effect: "Largest avatar.",
    }),
    avatarRequired: read.boolean("AVATAR_REQUIRED", {
      default: true,
      effect: "Whether a registration must bring an avatar.",
    }),
    log: readLogSettings(read, { level: "info" }),
    tracing: readTracingSettings(read, { serviceName: "weir-account" }),
    shutdownDrainMs: read.durationMs("SHUTDOWN_DRAIN", {
      default: "5s",
      maxMs: DRAIN_MAX_MS,
      effect: "How long the service stays up but not ready after SIGTERM, so that load balancers turn away first.",
    }),
    shutdownGraceMs: read.durationMs("SHUTDOWN_GRACE", {
      default: "15s",
      maxMs: DRAIN_MAX_MS,
      effect: "How long running requests may take after that.",
    }),
    warnings,
  };
}

/** Where users and avatars are kept. */
export interface StorageSettings {
  readonly store: string;
  readonly media: string;
}

/** STORE and MEDIA have one choice each today; production must say that it means it. */
function readStorage(read: EnvReader, isProduction: boolean, warnings: string[]): StorageSettings {
  const store = read.oneOf("STORE", {
    default: "embedded",
    choices: ["embedded"],
    effect: "Where users are kept: embedded is one file in DATA_DIR, for one process.",
  });
  const media = read.oneOf("MEDIA", {
    default: "local",
    choices: ["local"],
    effect: "Where avatars are kept: local is a folder in DATA_DIR, served under /media/.",
  });
  const isAllowed = read.boolean("ALLOW_EMBEDDED", {
    default: false,
    effect: "Whether NODE_ENV=production takes the embedded store and local media.",
  });
  if (isProduction && !isAllowed) {
    for (const [name, value] of Object.entries({ STORE: store, MEDIA: media }))
      read.problem(
        name,
        value,
        `${value} in production only together with ALLOW_EMBEDDED=true (for one process, with its data on this machine)`,
      );
  }
  if (!isProduction)
    warnings.push("users and avatars are kept in DATA_DIR on this machine, which is not for production");
  return { store, media };
}

type TokenSettings = Pick<
  Settings,
  "keys" | "tokenIssuer" | "accessTtlMs" | "refreshIdleMs" | "refreshAbsoluteMs" | "maxSessions"
>;

function readTokens(read: EnvReader, isProduction: boolean, warnings: string[]): TokenSettings {
  const keys = readKeySource(read, isProduction, warnings);
  const settings: TokenSettings = {
    keys,
    tokenIssuer: read.string("TOKEN_ISSUER", {
      default: "weir-account",
      effect: "Issuer of all tokens and audience of access tokens.",
    }),
    accessTtlMs: read.durationMs("ACCESS_TTL", {
      default: "10m",
      minMs: 10_000,
      maxMs: 86_400_000,
      effect: "Life of an access token.",
    }),
    refreshIdleMs: read.durationMs("REFRESH_IDLE", {
      default: "7d",
      minMs: 60_000,
      hasDays: true,
      effect: "Life of a refresh token.",
    }),
    refreshAbsoluteMs: read.durationMs("REFRESH_ABSOLUTE", {
      default: "30d",
      minMs: 60_000,
      hasDays: true,
      effect: "Longest life of a session after its login.",
    }),
    maxSessions: read.integer("MAX_SESSIONS", {
      default: 10,
      min: 1,
      max: 100,
      effect: "Sessions a user may have; a further login ends the oldest.",
    }),
  };
  if (settings.refreshIdleMs > settings.refreshAbsoluteMs) {
    const [idle, absolute] = [settings.refreshIdleMs, settings.refreshAbsoluteMs].map(formatDurationMs);
    read.problem("REFRESH_IDLE", idle, `at most REFRESH_ABSOLUTE, which is ${absolute}`);
  }
  return settings;
}

function readCookieOptions(read: EnvReader, isProduction: boolean, warnings: string[]): CookieOptions {
  const cookies: CookieOptions = {
    scope: read.oneOf("COOKIE_SCOPE", {
      default: "host",
      choices: ["host", "path"],
      effect:
        "host gives both cookies the __Host- prefix; path sends the refresh cookie, as __Secure-, to the account calls only.",
    }),
    sameSite: read.oneOf("COOKIE_SAMESITE", {
      default: "strict",
      choices: ["strict", "lax", "none"],
      ignoreCase: true,
      effect: "SameSite of the cookies; none makes the Origin header mandatory and still fails in some browsers.",
    }),
    insecureDevelopment: read.boolean("COOKIE_INSECURE_DEV", {
      default: false,
      effect:
        "Drops Secure and the prefixes, for browsers that refuse them on plain http; refused with NODE_ENV=production.",
    }),
  };
  if (cookies.insecureDevelopment && isProduction)
    read.problem("COOKIE_INSECURE_DEV", "true", "false with NODE_ENV=production");
  if (cookies.insecureDevelopment && cookies.sameSite === "none")
    read.problem("COOKIE_SAMESITE", "none", "strict or lax with COOKIE_INSECURE_DEV=true");
  if (cookies.insecureDevelopment) warnings.push("cookies are sent without Secure and can be read on the network");
  return cookies;
}

type PasswordSettings = Pick<Settings, "passwordMinLength" | "bcryptCost" | "bcryptConcurrency" | "passwordPepper">;

function readPasswords(read: EnvReader, isProduction: boolean): PasswordSettings {
  const threads = read.integer("UV_THREADPOOL_SIZE", {
    default: THREADS_DEFAULT,
    min: 1,
    max: 1024,
    effect:
      "Threads shared by hashing, files, DNS and cryptography; weir-account sets it to the number of CPUs and four.",
  });
  const concurrency = Math.max(1, Math.min(availableParallelism(), threads - 2));
  return {
    passwordMinLength: read.integer("PASSWORD_MIN", {
      default: 8,
      min: 8,
      max: 64,
      effect: "Fewest characters of a new password.",
    }),
    bcryptCost: read.integer("BCRYPT_COST", {
      default: 12,
      min: isProduction ? PRODUCTION_COST_MIN : 4,
      max: 16,
      effect:
        "Base-2 logarithm of bcrypt's rounds: one more doubles the time of a login; at least 10 with NODE_ENV=production.",
    }),
    bcryptConcurrency: readConcurrency(read, concurrency),
    passwordPepper: read.secret("PASSWORD_PEPPER", {
      effect: "Mixed into passwords before bcrypt, which lifts its limit of 72 bytes; once set, it can never change.",
    }),
  };
}

function readConcurrency(read: EnvReader, fallback: number): number {
  const limit = read.integer("BCRYPT_CONCURRENCY", {
    default: 0,
    min: 0,
    max: 128,
    effect:
      "Hashes in parallel; 0 takes the number of CPUs, but leaves two threads of UV_THREADPOOL_SIZE to other work.",
  });
  return limit === 0 ? fallback : limit;
}
