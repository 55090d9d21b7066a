// Settings of the alternative store, memcached: where its nodes are and how they are reached.
import type { EnvReader, Names } from "@weir/common/settings/read-env";

import { parseNodeAddress } from "../counters/altstore/node-address.ts";
import type { NodeSource } from "../counters/altstore/options.ts";
import { parseSrvName } from "../counters/altstore/srv-record.ts";
import { readStoreTls, type StoreTlsSettings } from "./store-tls-settings.ts";

/** Connections to a node when the setting names none, or less than one, as in the field. */
const CONNECTIONS_DEFAULT = 2;

/** Counters in memcached. */
export interface AltstoreBackendSettings extends AltstoreSettings {
  readonly kind: "altstore";
  readonly nodes: NodeSource;
  /** EXPIRATION_JITTER_MAX_SECONDS; default 300. */
  readonly expiryJitterMaxSeconds: number;
  /** KVSTORE_STARTUP_MAX_ELAPSED_TIME, in milliseconds; 0 waits for ever. */
  readonly startMaxElapsedMs: number;
}

/** What is read whether the alternative store is used or not. */
export interface AltstoreSettings {
  /** ALTSTORE_HOST_PORT; empty = none. */
  readonly addresses: readonly string[];
  /** ALTSTORE_SRV; undefined = none. */
  readonly record: string | undefined;
  /** ALTSTORE_SRV_REFRESH, in milliseconds; 0 = never, the default. */
  readonly refreshMs: number;
  /** ALTSTORE_MAX_IDLE_CONNS; default 2. */
  readonly maxConnections: number;
  /** ALTSTORE_TIMEOUT, in milliseconds; default 500. */
  readonly timeoutMs: number;
  /** ALTSTORE_TLS; default false. */
  readonly useTls: boolean;
  readonly tls: StoreTlsSettings;
}

/** Reads them. */
export function readAltstore(read: EnvReader): AltstoreSettings {
  const maxConnections = read.integer(names("MAX_IDLE_CONNS"), {
    default: CONNECTIONS_DEFAULT,
    max: 1000,
    effect: "Most connections to each node of the alternative store; less than 1 means 2.",
  });
  return {
    addresses: read.list(names("HOST_PORT"), {
      effect:
        "Nodes of the alternative store: host:port, or the path of a unix socket. The same list, in the same order, on every pod.",
    }),
    record: read.optionalString(names("SRV"), {
      effect: "SRV record that names the nodes, such as _memcache._tcp.example.org.",
    }),
    refreshMs: read.durationMs(names("SRV_REFRESH"), {
      default: "0",
      bareUnit: "s",
      isTimer: true,
      effect: "Time between lookups of the record; 0 looks it up at start only.",
    }),
    maxConnections: maxConnections < 1 ? CONNECTIONS_DEFAULT : maxConnections,
    timeoutMs: read.durationMs("ALTSTORE_TIMEOUT", {
      default: "500ms",
      minMs: 1,
      isTimer: true,
      effect: "Longest wait for a connection to a node of the alternative store, and for an answer.",
    }),
    useTls: read.boolean(names("TLS"), { default: false, effect: "TLS to the alternative store." }),
    tls: readStoreTls(read, { names, stores: "the alternative store" }),
  };
}

/** Where the nodes are, with a problem when the settings do not say it. */
export function readNodeSource(read: EnvReader, { addresses, record, refreshMs }: AltstoreSettings): NodeSource {
  if (record !== undefined) {
    const parsed = parseSrvName(record);
    if (addresses.length > 0) {
      read.problem(
        "ALTSTORE_SRV",
        record,
        "nothing beside ALTSTORE_HOST_PORT: Both MEMCACHE_HOST_PORT and MEMCACHE_SRV are set",
      );
    } else if (!parsed.ok) {
      read.problem("ALTSTORE_SRV", record, `a name such as _memcache._tcp.example.org: ${parsed.problem}`);
    }
    return { kind: "srv", record, refreshMs };
  }
  if (addresses.length === 0)
    read.problem("ALTSTORE_HOST_PORT", undefined, "a list of host:port, or ALTSTORE_SRV instead");
  for (const address of addresses) {
    if (parseNodeAddress(address) === undefined)
      read.problem("ALTSTORE_HOST_PORT", address, "a list of host:port and of paths with a /");
  }
  return { kind: "list", addresses };
}

/** A setting by its primary name and that of the field. */
function names(suffix: string): Names {
  return [`ALTSTORE_${suffix}`, `MEMCACHE_${suffix}`];
}
