// Finds variables of the environment that have no effect: settings of envoyproxy/ratelimit without
// a meaning here, and misspelt settings. They are logged at the start. Pure.
import { findMeantSetting } from "@weir/common/settings/misspelt-setting";
import { parseBoolean } from "@weir/common/settings/parse-values";
import { namesOfRows } from "@weir/common/settings/program-settings";
import type { Env, SettingRow } from "@weir/common/settings/read-env";
import { isServiceLinkName } from "@weir/common/settings/service-links";

/** A variable without effect, and the reason. */
export interface SettingWithoutEffect {
  readonly name: string;
  readonly reason: string;
}

const GO_RUNTIME = "it tunes the runtime of Go; this service runs on Node.js";
const GO_GRPC_LOG = "it tunes the log of Go's gRPC library; LOG_LEVEL is the only level here";
const NO_WAIT =
  "connections are shared, so a call never waits for one; KVSTORE_TIMEOUT bounds the wait for a connection";

/** Settings of envoyproxy/ratelimit, or of its libraries, without effect here. */
export const SETTINGS_WITHOUT_EFFECT: readonly SettingWithoutEffect[] = [
  { name: "REDIS_POOL_ON_EMPTY_WAIT_DURATION", reason: NO_WAIT },
  { name: "REDIS_PERSECOND_POOL_ON_EMPTY_WAIT_DURATION", reason: NO_WAIT },
  { name: "GOSTATS_FLUSH_INTERVAL_SECONDS", reason: "statistics are flushed every STATS_FLUSH_INTERVAL" },
  { name: "GOSTATS_LOGGING_SINK_DISABLED", reason: "DISABLE_STATS turns statistics off" },
  { name: "GOSTATS_BATCH_ENABLED", reason: "statistics are always sent in batches" },
  { name: "GOMAXPROCS", reason: GO_RUNTIME },
  { name: "GOMEMLIMIT", reason: GO_RUNTIME },
  { name: "GOGC", reason: GO_RUNTIME },
  { name: "GODEBUG", reason: GO_RUNTIME },
  { name: "GRPC_GO_LOG_SEVERITY_LEVEL", reason: GO_GRPC_LOG },
  { name: "GRPC_GO_LOG_VERBOSITY_LEVEL", reason: GO_GRPC_LOG },
];

/** Settings without effect with a backend, here and in envoyproxy/ratelimit. */
const WITHOUT_EFFECT_BY_BACKEND: Readonly<Record<string, readonly SettingWithoutEffect[]>> = {
  altstore: [
    {
      name: "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT",
      reason:
        "memcached is incremented after the answer, so there is nothing to stop; it works with the other backends",
    },
  ],
};

/** Settings of TLS with one kind of peer, and the settings that turn it on. */
interface TlsGroup {
  readonly settings: RegExp;
  /** Any of these turns it on. */
  readonly switches: readonly [string, ...string[]];
  readonly isOnByDefault?: boolean;
  /** Returns true if such a peer is configured; otherwise there is no warning. */
  readonly isUsed: (env: Env, backend: string) => boolean;
}

const TLS_GROUPS: readonly TlsGroup[] = [
  { settings: /^GRPC_(SERVER|CLIENT)_TLS_/, switches: ["GRPC_SERVER_USE_TLS"], isUsed: () => true },
  {
    settings: /^CONFIG_GRPC_XDS_(SERVER|CLIENT)_TLS_/,
    switches: ["CONFIG_GRPC_XDS_SERVER_USE_TLS"],
    isOnByDefault: true,
    isUsed: (env) => env["CONFIG_TYPE"]?.startsWith("GRPC_XDS_") === true,
  },
  {
    settings: /^(KVSTORE|REDIS)_TLS_/,
    switches: ["KVSTORE_TLS", "REDIS_TLS", "KVSTORE_PERSECOND_TLS", "REDIS_PERSECOND_TLS"],
    isUsed: (_env, backend) => backend === "kvstore",
  },
  {
    settings: /^(ALTSTORE|MEMCACHE)_TLS_/,
    switches: ["ALTSTORE_TLS", "MEMCACHE_TLS"],
    isUsed: (_env, backend) => backend === "altstore",
  },
];

/**
 * The variables of `env` without effect, sorted by name, without their values, which may be
 * secrets. `rows` are the known settings, `backend` is the kind of counters.
 */
export function findSettingWarnings(
  env: Env,
  rows: readonly SettingRow[],
  backend: string,
): readonly SettingWithoutEffect[] {
  const idle = WITHOUT_EFFECT_BY_BACKEND[backend] ?? [];
  const known = namesOfRows(rows);
  const families = new Set(known.map(familyOf));
  const warnings: SettingWithoutEffect[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value === "") continue;
    const withoutEffect = [...SETTINGS_WITHOUT_EFFECT, ...idle].find((each) => each.name === name);
    const idleTlsReason = findIdleTlsReason(env, name, backend);
    if (withoutEffect !== undefined) warnings.push(withoutEffect);
    else if (idleTlsReason !== undefined && known.includes(name)) warnings.push({ name, reason: idleTlsReason });
    else if (!known.includes(name) && families.has(familyOf(name)) && !isServiceLinkName(name)) {
      const meant = findMeantSetting(name, known);
      if (meant !== undefined) warnings.push({ name, reason: `unknown setting; is ${meant} meant?` });
    }
  }
  return warnings.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The first word of a name; only names that share it with a setting can be a misspelt one. */
function familyOf(name: string): string {
  return name.split("_", 1)[0] ?? name;
}

/**
 * Why `name`, which is set, has no effect; undefined if it has one. `backend` is the kind of
 * counters.
 */
function findIdleTlsReason(env: Env, name: string, backend: string): string | undefined {
  const group = TLS_GROUPS.find(({ settings }) => settings.test(name));
  if (group === undefined || !group.isUsed(env, backend) || isOff(env[name])) return undefined;
  const { switches, isOnByDefault = false } = group;
  const set = switches.filter((each) => (env[each] ?? "") !== "");
  const isOn = set.length === 0 ? isOnByDefault : set.some((each) => !isOff(env[each]));
  if (isOn) return undefined;
  const alike = switches.find((each) => familyOf(each) === familyOf(name)) ?? switches[0];
  return `TLS is off there; ${alike}=true turns it on`;
}

function isOff(text: string | undefined): boolean {
  return parseBoolean(text ?? "") === false;
}
