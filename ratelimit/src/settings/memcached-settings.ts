// Settings of the alternative store, memcached.
import type { EnvReader, Names } from "@weir/common/settings/read-env";

import { parseNodeAddress } from "../counters/memcached/node-address.ts";
import type { MemcachedCounterOptions, NodeSource } from "../counters/memcached/options.ts";
import { findSrvProblem } from "../counters/memcached/srv-record.ts";
import { readStoreTls, type StoreTlsSettings } from "./tls-settings.ts";

/** Connections to a node when the setting is absent or less than 1, as in envoyproxy/ratelimit. */
const CONNECTIONS_DEFAULT = 2;

/** Counters in memcached: the options of the backend, and its TLS as files. */
export interface MemcachedBackendSettings extends Omit<MemcachedCounterOptions, "tls" | "unread"> {
  readonly kind: "altstore";
  /** ALTSTORE_TLS; default false. */
  readonly useTls: boolean;
  readonly tls: StoreTlsSettings;
}

/** Settings of the Redis backend that the alternative store shares. */
type SharedSettings = Pick<MemcachedBackendSettings, "expiryJitterMaxSeconds" | "startMaxElapsedMs">;

/** Reads the settings; the nodes are checked only when the backend is selected. */
export function readMemcached(read: EnvReader, shared: SharedSettings, isSelected: boolean): MemcachedBackendSettings {
  const maxConnections = read.integer(names("MAX_IDLE_CONNS"), {
    default: CONNECTIONS_DEFAULT,
    max: 1000,
    effect: "Most connections to each node of the alternative store; less than 1 means 2.",
  });
  return {
    kind: "altstore",
    nodes: readNodeSource(read, isSelected),
    maxConnections: maxConnections < 1 ? CONNECTIONS_DEFAULT : maxConnections,
    timeoutMs: read.durationMs("ALTSTORE_TIMEOUT", {
      default: "500ms",
      minMs: 1,
      isTimer: true,
      effect: "Longest wait for a connection to a node of the alternative store, and for an answer.",
    }),
    useTls: read.boolean(names("TLS"), { default: false, effect: "TLS to the alternative store." }),
    tls: readStoreTls(read, { names, stores: "the alternative store" }),
    ...shared,
  };
}

function readNodeSource(read: EnvReader, isSelected: boolean): NodeSource {
  const addresses = read.list(names("HOST_PORT"), {
    effect:
      "Nodes of the alternative store: host:port, or the path of a unix socket. The same list, in the same order, on every pod.",
  });
  const record = read.optionalString(names("SRV"), {
    effect: "SRV record that names the nodes, such as _memcache._tcp.example.org.",
  });
  const refreshMs = read.durationMs(names("SRV_REFRESH"), {
    default: "0",
    bareUnit: "s",
    isTimer: true,
    effect: "Time between lookups of the record; 0 looks it up at start only.",
  });
  if (isSelected) checkNodes(read, addresses, record);
  return record === undefined ? { kind: "list", addresses } : { kind: "srv", record, refreshMs };
}

function checkNodes(read: EnvReader, addresses: readonly string[], record: string | undefined): void {
  if (record !== undefined) {
    const problem = findSrvProblem(record);
    if (addresses.length > 0) {
      read.problem(
        "ALTSTORE_SRV",
        record,
        "nothing next to ALTSTORE_HOST_PORT: Both MEMCACHE_HOST_PORT and MEMCACHE_SRV are set",
      );
    } else if (problem !== undefined) {
      read.problem("ALTSTORE_SRV", record, `a name such as _memcache._tcp.example.org: ${problem}`);
    }
    return;
  }
  if (addresses.length === 0)
    read.problem("ALTSTORE_HOST_PORT", undefined, "a list of host:port, or ALTSTORE_SRV instead");
  for (const address of addresses) {
    if (parseNodeAddress(address) === undefined)
      read.problem("ALTSTORE_HOST_PORT", address, "a list of host:port and of paths with a /");
  }
}

/** The name of a setting, and its name in envoyproxy/ratelimit. */
function names(suffix: string): Names {
  return [`ALTSTORE_${suffix}`, `MEMCACHE_${suffix}`];
}
