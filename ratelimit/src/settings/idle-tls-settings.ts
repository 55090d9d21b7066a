// Finds settings of TLS files and names that have no effect because TLS itself is off. Pure.
import { parseBoolean } from "@weir/common/settings/parse-values";
import type { Env } from "@weir/common/settings/read-env";

/** Settings of TLS with one kind of peer, and the settings that turn it on. */
interface TlsGroup {
  readonly settings: RegExp;
  /** Any of these turns it on. */
  readonly switches: readonly [string, ...string[]];
  readonly isOnByDefault?: boolean;
  /** Whether such a peer is configured; otherwise there is no warning. */
  readonly isUsed: (env: Env, backend: string) => boolean;
}

const GROUPS: readonly TlsGroup[] = [
  { settings: /^GRPC_(SERVER|CLIENT)_TLS_/, switches: ["GRPC_SERVER_USE_TLS"], isUsed: () => true },
  {
    settings: /^CONFIG_GRPC_XDS_(SERVER|CLIENT)_TLS_/,
    switches: ["CONFIG_GRPC_XDS_SERVER_USE_TLS"],
    isOnByDefault: true,
    isUsed: (env) => env["CONFIG_TYPE"] === "GRPC_XDS_SOTW",
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
 * Why `name`, which is set, has no effect; undefined if it has one. `backend` is the kind of
 * counters.
 */
export function findIdleTlsReason(env: Env, name: string, backend: string): string | undefined {
  const group = GROUPS.find(({ settings }) => settings.test(name));
  if (group === undefined || !group.isUsed(env, backend) || isOff(env[name])) return undefined;
  const { switches, isOnByDefault = false } = group;
  const set = switches.filter((each) => (env[each] ?? "") !== "");
  const isOn = set.length === 0 ? isOnByDefault : set.some((each) => !isOff(env[each]));
  if (isOn) return undefined;
  const alike = switches.find((each) => familyOf(each) === familyOf(name)) ?? switches[0];
  return `TLS is off there; ${alike}=true turns it on`;
}

function familyOf(name: string): string {
  return name.replace(/_.*/, "");
}

function isOff(text: string | undefined): boolean {
  return parseBoolean(text ?? "") === false;
}
