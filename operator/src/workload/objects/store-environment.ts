// The settings of the data plane for the counter store of a RateLimitService.
import type { RateLimitServiceSpec } from "@weir/crds/rate-limit-service/schema/schema";

import { mountedPath } from "./mounts.ts";

/** Settings by name; undefined ones are left out, so that the data plane uses its default. */
export type SettingValues = Readonly<Record<string, string | number | boolean | undefined>>;

type Backend = RateLimitServiceSpec["backend"];
type Redis = NonNullable<Backend["redis"]>;
type Memcached = NonNullable<Backend["memcached"]>;

/** The connection to a Redis: the part that the main store and that of counters per second have in common. */
type RedisServer = Pick<Redis, "type" | "single" | "sentinel" | "cluster" | "auth" | "poolSize" | "connectTimeout">;

/** The settings of the store. */
export function storeSettings(backend: Backend): SettingValues {
  switch (backend.type) {
    case "memory":
      return { BACKEND_TYPE: "memory", MEMORY_MAX_KEYS: backend.memory?.maxKeys };
    case "redis":
      return { BACKEND_TYPE: "kvstore", ...(backend.redis && redisSettings(backend.redis)) };
    case "memcached":
      return { BACKEND_TYPE: "altstore", ...(backend.memcached && memcachedSettings(backend.memcached)) };
  }
}

function redisSettings(redis: Redis): SettingValues {
  const { perSecond, tls, commandTimeout } = redis;
  return {
    ...serverSettings("KVSTORE_", redis, { auth: "store-auth", sentinelAuth: "sentinel-auth" }),
    KVSTORE_TLS: tls !== undefined,
    KVSTORE_COMMAND_TIMEOUT: commandTimeout,
    ...tlsSettings("KVSTORE_TLS_", tls),
    ...(perSecond !== undefined && {
      KVSTORE_PERSECOND: true,
      ...serverSettings("KVSTORE_PERSECOND_", perSecond, {
        auth: "per-second-auth",
        sentinelAuth: "per-second-sentinel-auth",
      }),
      KVSTORE_PERSECOND_TLS: perSecond.tls ?? tls !== undefined,
    }),
  };
}

function serverSettings(
  prefix: string,
  server: RedisServer,
  mounts: { readonly auth: string; readonly sentinelAuth: string },
): SettingValues {
  const hasPassword = server.auth !== undefined;
  const hasSentinelPassword = server.type === "sentinel" && server.sentinel?.auth !== undefined;
  return {
    [`${prefix}TYPE`]: server.type,
    [`${prefix}SOCKET_TYPE`]: "tcp",
    [`${prefix}URL`]: urlOf(server),
    [`${prefix}AUTH_FILE`]: hasPassword ? mountedPath(mounts.auth, "password") : undefined,
    [`${prefix}SENTINEL_AUTH_FILE`]: hasSentinelPassword ? mountedPath(mounts.sentinelAuth, "password") : undefined,
    [`${prefix}POOL_SIZE`]: server.poolSize,
    [`${prefix}TIMEOUT`]: server.connectTimeout,
  };
}

/** The address as KVSTORE_URL has it for the type. */
function urlOf({ type, single, sentinel, cluster }: RedisServer): string | undefined {
  switch (type) {
    case "single": {
      if (single === undefined) return undefined;
      const { address, database = 0 } = single;
      return database === 0 ? address : `redis://${address}/${database}`;
    }
    case "sentinel":
      return sentinel && [sentinel.primary, ...sentinel.addresses].join(",");
    case "cluster":
      return cluster?.addresses.join(",");
  }
}

function memcachedSettings({ addresses, srv, srvRefresh, maxConnections, timeout, tls }: Memcached): SettingValues {
  return {
    ALTSTORE_HOST_PORT: addresses?.join(","),
    ALTSTORE_SRV: srv,
    ALTSTORE_SRV_REFRESH: srvRefresh,
    ALTSTORE_MAX_IDLE_CONNS: maxConnections,
    ALTSTORE_TIMEOUT: timeout,
    ALTSTORE_TLS: tls !== undefined,
    ...tlsSettings("ALTSTORE_TLS_", tls),
  };
}

function tlsSettings(prefix: string, tls: Redis["tls"]): SettingValues {
  if (tls === undefined) return {};
  const hasPair = tls.clientCertificateSecret !== undefined;
  return {
    [`${prefix}CACERT`]: tls.caSecretRef === undefined ? undefined : mountedPath("store-ca", "ca.crt"),
    [`${prefix}CLIENT_CERT`]: hasPair ? mountedPath("store-tls", "tls.crt") : undefined,
    [`${prefix}CLIENT_KEY`]: hasPair ? mountedPath("store-tls", "tls.key") : undefined,
    [`${prefix}SKIP_HOSTNAME_VERIFICATION`]: tls.skipHostnameVerification,
  };
}
