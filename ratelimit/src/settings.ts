// All settings of the service, read once at the start. The names are those of the specification, with the reference's as aliases, so that an existing
// deployment starts unchanged. Settings of parts that this build does not have are not read.
import { type LogFormat, type LogLevel, readLogSettings } from "@weir/common/log/log";
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";
import { readTracingSettings, type TracingSettings } from "@weir/common/tracing/tracing";

import { type BackendSettings, readBackendSettings } from "./settings/backend-settings.ts";
import { type ConfigSettings, readConfigSettings } from "./settings/config-settings.ts";
import { type DecideSettings, readDecideSettings } from "./settings/decide-settings.ts";
import { readServerSettings, type ServerSettings } from "./settings/server-settings.ts";
import { readStatisticsSettings, type StatisticsSettings } from "./settings/statistics-settings.ts";

/** The settings. */
export interface Settings {
  readonly server: ServerSettings;
  readonly config: ConfigSettings;
  readonly backend: BackendSettings;
  readonly decide: DecideSettings;
  readonly statistics: StatisticsSettings;
  /** LOG_LEVEL (default warn, as in the reference) and LOG_FORMAT. */
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly tracing: TracingSettings;
}

/** The settings in `env`. Throws one SettingsError that lists every problem. */
export function parseSettings(env: Env): Settings {
  return settingsFrom(env, readSettings);
}

/** Every setting with its default and effect: for --help and the documentation. */
export function describeSettings(): readonly SettingRow[] {
  return settingRowsOf(readSettings);
}

function readSettings(read: EnvReader): Settings {
  const server = readServerSettings(read);
  const config = readConfigSettings(read);
  const backend = readBackendSettings(read);
  return {
    server,
    config,
    backend,
    decide: readDecideSettings(read, backend.kind),
    statistics: readStatisticsSettings(read),
    log: readLogSettings(read, { level: "warn" }),
    tracing: readTracingSettings(read, { serviceName: "RateLimit" }),
  };
}
