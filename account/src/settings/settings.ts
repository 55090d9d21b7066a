// The settings of weir-account: every environment variable with its default and effect, read once
// into one frozen object.
import { type LogFormat, type LogLevel, readLogSettings } from "@weir/common/log/log";
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";
import { readTracingSettings, type TracingSettings } from "@weir/common/tracing/tracing";
import type { CookieOptions } from "../sessions/cookies.ts";
import { type ListenerSettings, readListeners } from "./listeners.ts";
import { type OriginSettings, readOrigins } from "./origins.ts";
import { type PasswordSettings, readPasswords } from "./passwords.ts";
import { readSessions, type SessionSettings } from "./sessions.ts";
import { readStorage, type StorageSettings } from "./storage.ts";
import { readMail } from "./mail.ts";
import { readThrottle } from "./throttle.ts";
import type { MailSettings } from "../mail/mailer.ts";
import type { ThrottleSettings } from "../throttle/create-throttle.ts";

/** Longest wait that a timer takes, in milliseconds; used for drains. */
const DRAIN_MAX_MS = 3_600_000;

/** Everything that can be set. Durations are milliseconds. */
export interface Settings extends OriginSettings, ListenerSettings, StorageSettings, SessionSettings, PasswordSettings {
  readonly isProduction: boolean;
  readonly dataDirectory: string;
  readonly cookies: CookieOptions;
  readonly throttle: ThrottleSettings;
  readonly mail: MailSettings;
  /** True if the service serves its page. */
  readonly hasPage: boolean;
  readonly avatarMaxBytes: number;
  readonly avatarMaxPixels: number;
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
  const origins = readOrigins(read, { isProduction, isMediaLocal: storage.media.kind === "local" }, warnings);
  const hasPage = read.boolean("PAGE", {
    default: !isProduction,
    effect:
      "Whether the service serves, at /, a page on which users register, sign in and manage their account; false by default with NODE_ENV=production.",
  });
  return {
    isProduction,
    ...listeners,
    ...origins,
    hasPage,
    ...storage,
    dataDirectory: read.string("DATA_DIR", {
      default: "./data",
      effect: "Folder of the embedded store, the local media and generated secrets.",
    }),
    ...readSessions(read, isProduction, warnings),
    cookies: readCookieOptions(read, isProduction, warnings),
    ...readPasswords(read, isProduction),
    throttle: readThrottle(read, warnings),
    mail: readMail(read, { isProduction, hasPage, publicOrigin: origins.publicOrigin }),
    avatarMaxBytes: read.sizeBytes("AVATAR_MAX_BYTES", {
      default: 2_097_152,
      min: 1024,
      max: 33_554_432,
      effect: "Largest avatar, as it is sent and as it is stored.",
    }),
    avatarMaxPixels: read.integer("AVATAR_MAX_PIXELS", {
      default: 1_048_576,
      min: 4096,
      max: 16_777_216,
      effect: "Most pixels (width by height) of a stored avatar; larger ones are shrunk to it.",
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
