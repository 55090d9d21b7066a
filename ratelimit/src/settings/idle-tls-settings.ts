// Files and names for TLS that are set while TLS itself is off: whoever set them believes in a
// protection that is not there. Pure.
import { parseBoolean } from "@weir/common/settings/parse-values";
import type { Env } from "@weir/common/settings/read-env";

/** Settings of TLS to or from one kind of peer, and what turns TLS on for it. */
interface TlsGroup {
  readonly settings: RegExp;
  /** Any of these turns it on. */
  readonly switches: readonly [string, ...string[]];
  readonly isOnByDefault?: boolean;
  /**
   * Whether there is such a peer at all; else nothing is said, for the variables may wait for
   * another day.
   */
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
 * Why `name`, which is set, does nothing, if it is one of these. `backend` is the kind of counters.
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
