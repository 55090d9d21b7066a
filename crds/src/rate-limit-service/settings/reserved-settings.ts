// The settings that the operator itself gives the pods of a RateLimitService, so that `env` must not.
import { DATA_PLANE_SETTINGS, type DataPlaneSetting } from "./data-plane-settings.ts";

/** Reserved settings, each with the field of the spec that sets it; undefined: no field does, only the operator. */
const FIELDS: Readonly<Record<string, string | undefined>> = {
  HOST: undefined,
  PORT: undefined,
  GRPC_UDS: undefined,
  GRPC_HOST: undefined,
  GRPC_PORT: undefined,
  DEBUG_HOST: undefined,
  DEBUG_PORT: undefined,
  CONFIG_TYPE: undefined,
  CONFIG_GRPC_XDS_NODE_ID: "fleet",
  CONFIG_GRPC_XDS_NODE_METADATA: "fleet",
  CONFIG_GRPC_XDS_SERVER_URL: "controlPlane.address",
  CONFIG_GRPC_XDS_SERVER_USE_TLS: "controlPlane.plaintext",
  CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "controlPlane.certificateSecret",
  CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "controlPlane.certificateSecret",
  CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "controlPlane.certificateSecret",
  CONFIG_GRPC_XDS_SERVER_TLS_SAN: "controlPlane.serverName",
  GRPC_SERVER_USE_TLS: "tls",
  GRPC_SERVER_TLS_CERT: "tls.certificateSecret",
  GRPC_SERVER_TLS_KEY: "tls.certificateSecret",
  GRPC_CLIENT_TLS_CACERT: "tls.clientCertificates.caSecretRef",
  GRPC_CLIENT_TLS_SAN: "tls.clientCertificates.subjectAlternativeName",
  BACKEND_TYPE: "backend.type",
  BACKEND_FAILURE_MODE: "failureMode",
  MEMORY_MAX_KEYS: "backend.memory.maxKeys",
  ...storeFields("KVSTORE_", "backend.redis"),
  ...storeFields("KVSTORE_PERSECOND_", "backend.redis.perSecond"),
  KVSTORE_PERSECOND: "backend.redis.perSecond",
  KVSTORE_COMMAND_TIMEOUT: "backend.redis.commandTimeout",
  ...storeTlsFields("KVSTORE_TLS_", "backend.redis.tls"),
  ALTSTORE_HOST_PORT: "backend.memcached.addresses",
  ALTSTORE_SRV: "backend.memcached.srv",
  ALTSTORE_SRV_REFRESH: "backend.memcached.srvRefresh",
  ALTSTORE_MAX_IDLE_CONNS: "backend.memcached.maxConnections",
  ALTSTORE_TIMEOUT: "backend.memcached.timeout",
  ALTSTORE_TLS: "backend.memcached.tls",
  ...storeTlsFields("ALTSTORE_TLS_", "backend.memcached.tls"),
  SHADOW_MODE: "shadowMode",
  LIMIT_RESPONSE_HEADERS_ENABLED: "responseHeaders.enabled",
  LIMIT_LIMIT_HEADER: "responseHeaders.limit",
  LIMIT_REMAINING_HEADER: "responseHeaders.remaining",
  LIMIT_RESET_HEADER: "responseHeaders.reset",
  LIMIT_RULE_HEADER: "responseHeaders.rule",
  SHUTDOWN_DRAIN: undefined,
  SHUTDOWN_GRACE: undefined,
  STATS_MAX_DYNAMIC_KEYS: "statistics.maxDynamicKeys",
  EXTRA_TAGS: "statistics.tags",
  STATS_FLUSH_INTERVAL: "statistics.push.interval",
  USE_PUSHSTATS: "statistics.push",
  USE_TAGGED_STATS: "statistics.push.format",
  PUSHSTATS_HOST: "statistics.push.host",
  PUSHSTATS_PORT: "statistics.push.port",
  PUSHSTATS_PROTOCOL: "statistics.push.protocol",
  USE_PULLSTATS: undefined,
  PULLSTATS_ADDR: undefined,
  PULLSTATS_PATH: undefined,
  TRACING_ENABLED: "tracing",
  TRACING_EXPORTER_PROTOCOL: "tracing.protocol",
  TRACING_SAMPLING_RATE: "tracing.samplingPercent",
};

/** Variables that are no settings of the data plane's own but that the operator sets. */
const OTHER_FIELDS: Readonly<Record<string, string>> = { OTEL_EXPORTER_OTLP_ENDPOINT: "tracing.endpoint" };

/** Every spelling of a reserved setting, with the field that decides, if there is one. */
const FIELD_BY_NAME: ReadonlyMap<string, string | undefined> = new Map([
  ...Object.entries(FIELDS).flatMap(([name, field]) =>
    spellingsOf(settingNamed(name)).map((spelling) => [spelling, field] as const),
  ),
  ...Object.entries(OTHER_FIELDS),
]);

/** Every name that `env` must not have. */
export const RESERVED_SETTINGS: readonly string[] = [...FIELD_BY_NAME.keys()];

/**
 * The field of the spec that decides a reserved setting, such as `backend.type`, or undefined when the
 * operator alone decides; null: the name is not reserved.
 */
export function fieldOfReserved(name: string): string | undefined | null {
  return FIELD_BY_NAME.has(name) ? FIELD_BY_NAME.get(name) : null;
}

/** All names of a setting: aliases, and those of files for secrets. */
export function spellingsOf({ names, isSecret }: DataPlaneSetting): readonly string[] {
  return isSecret === true ? names.flatMap((name) => [name, `${name}_FILE`]) : names;
}

/** Throws when the data plane no longer has the setting: the operator would set nothing by it. */
function settingNamed(name: string): DataPlaneSetting {
  const setting = DATA_PLANE_SETTINGS.find(({ names }) => names[0] === name);
  if (setting === undefined) throw new Error(`Cannot reserve ${name}: the data plane has no setting of that name`);
  return setting;
}

function storeFields(prefix: string, field: string): Readonly<Record<string, string>> {
  return {
    [`${prefix}TYPE`]: `${field}.type`,
    [`${prefix}SOCKET_TYPE`]: `${field}.type`,
    [`${prefix}URL`]: `${field}.type`,
    [`${prefix}AUTH`]: `${field}.auth`,
    [`${prefix}SENTINEL_AUTH`]: `${field}.sentinel.auth`,
    [`${prefix}TLS`]: `${field}.tls`,
    [`${prefix}POOL_SIZE`]: `${field}.poolSize`,
    [`${prefix}TIMEOUT`]: `${field}.connectTimeout`,
  };
}

function storeTlsFields(prefix: string, field: string): Readonly<Record<string, string>> {
  return {
    [`${prefix}CACERT`]: `${field}.caSecretRef`,
    [`${prefix}CLIENT_CERT`]: `${field}.clientCertificateSecret`,
    [`${prefix}CLIENT_KEY`]: `${field}.clientCertificateSecret`,
    [`${prefix}SKIP_HOSTNAME_VERIFICATION`]: `${field}.skipHostnameVerification`,
  };
}
