// All settings of the service, read once at the start. The names in envoyproxy/ratelimit are
// aliases, so that an existing deployment starts unchanged.
import { type LogFormat, type LogLevel, readLogSettings } from "@weir/common/log/log";
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";
import { withoutServiceLinks } from "@weir/common/settings/service-links";
import { readTracingSettings, type TracingSettings } from "@weir/common/tracing/tracing";

import { type BackendSettings, readBackendSettings } from "./settings/backend-settings.ts";
import { type ConfigSettings, readConfigSettings } from "./settings/config-settings.ts";
import { type DecideSettings, readDecideSettings } from "./settings/decide-settings.ts";
import type { TopKeysSettings } from "./observe/observed-pod.ts";
import { readObserveSettings } from "./settings/observe-settings.ts";
import { readServerSettings, type ServerSettings } from "./settings/server-settings.ts";
import { SETTINGS_WITHOUT_EFFECT, type SettingWithoutEffect } from "./settings/setting-warnings.ts";
import { readStatisticsSettings, type StatisticsSettings } from "./settings/statistics-settings.ts";

/** Defaults of this program, as in envoyproxy/ratelimit. */
const LOG_DEFAULTS = { level: "warn" } as const;
const TRACING_DEFAULTS = { serviceName: "RateLimit" } as const;

export interface Settings {
  readonly server: ServerSettings;
  readonly config: ConfigSettings;
  readonly backend: BackendSettings;
  readonly decide: DecideSettings;
  readonly statistics: StatisticsSettings;
  readonly observe: TopKeysSettings;
  /** LOG_LEVEL (default warn) and LOG_FORMAT. */
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly tracing: TracingSettings;
}

/** Parses the settings. Throws one SettingsError with every problem. */
export function parseSettings(env: Env): Settings {
  return settingsFrom(withoutServiceLinks(env), readSettings);
}

/** Every setting with its default and effect: for --help. */
export function describeSettings(): readonly SettingRow[] {
  return describeSettingGroups().flatMap(({ rows }) => rows);
}

/** Settings of one subject. */
export interface SettingGroup {
  readonly title: string;
  readonly rows: readonly SettingRow[];
}

/** Every setting by subject, for the documentation. */
export function describeSettingGroups(): readonly SettingGroup[] {
  const counters = settingRowsOf(readBackendSettings);
  const countersOf = (prefix: RegExp): readonly SettingRow[] =>
    counters.filter(({ names: [name = ""] }) => prefix.test(name));
  return [
    { title: "Listeners, health, start and stop", rows: settingRowsOf(readServerSettings) },
    { title: "Configuration", rows: settingRowsOf(readConfigSettings) },
    { title: "Counters", rows: countersOf(/^(?!KVSTORE_|ALTSTORE_)/) },
    { title: "Counters in a key-value store (Redis)", rows: countersOf(/^KVSTORE_/) },
    { title: "Counters in the alternative store (memcached)", rows: countersOf(/^ALTSTORE_/) },
    { title: "Decisions", rows: settingRowsOf((read) => readDecideSettings(read, "kvstore")) },
    { title: "Statistics", rows: settingRowsOf(readStatisticsSettings) },
    { title: "Keys that count most", rows: settingRowsOf(readObserveSettings) },
    { title: "Log", rows: settingRowsOf((read) => readLogSettings(read, LOG_DEFAULTS)) },
    { title: "Traces", rows: settingRowsOf((read) => readTracingSettings(read, TRACING_DEFAULTS)) },
  ];
}

/** Settings of envoyproxy/ratelimit without effect here, for the documentation. */
export function describeSettingsWithoutEffect(): readonly SettingWithoutEffect[] {
  return SETTINGS_WITHOUT_EFFECT;
}

function readSettings(read: EnvReader): Settings {
  const server = readServerSettings(read);
  const config = readConfigSettings(read);
  const backend = readBackendSettings(read);
  if (backend.kind === "memory" && server.workers !== 1 && server.workers !== "auto") {
    const reason = "1 or auto, because BACKEND_TYPE is memory: processes do not share counters in memory";
    read.problem("WORKERS", `${server.workers}`, reason);
  }
  return {
    server,
    config,
    backend,
    decide: readDecideSettings(read, backend.kind),
    statistics: readStatisticsSettings(read),
    observe: readObserveSettings(read),
    log: readLogSettings(read, LOG_DEFAULTS),
    tracing: readTracingSettings(read, TRACING_DEFAULTS),
  };
}
