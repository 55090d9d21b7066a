// The environment of the pods: each field of a RateLimitService as the settings of the data plane.
import type { RateLimitServiceSpec } from "@weir/crds/rate-limit-service/schema/schema";

import { mountedPath } from "./mounts.ts";
import { type SettingValues, storeSettings } from "./store-environment.ts";
import { PORTS, type Workload } from "./workload.ts";

/** One variable of a container. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string | undefined;
  readonly valueFrom?: object | undefined;
}

/**
 * How a pod ends: after the sleep of its preStop hook it drains, then calls and connections have the
 * grace time each. Seconds.
 */
export const STOP_SECONDS = { preStop: 5, drain: 5, grace: 10, margin: 5 } as const;

/**
 * How long a proxy keeps a connection to a pod, plus or minus a tenth: its next one may be to a pod that is new. A
 * resource may say otherwise.
 */
const CONNECTION_AGE_MAX = "5m";

/** The variables of the container, each name once. */
export function environmentOf(workload: Workload): readonly EnvironmentVariable[] {
  const { spec } = workload;
  const settings: SettingValues = {
    LOG_LEVEL: workload.options.log.level,
    LOG_FORMAT: workload.options.log.format,
    ...listenerSettings(spec),
    ...controlPlaneSettings(workload),
    ...storeSettings(spec.backend),
    ...behaviorSettings(spec),
    ...statisticsSettings(spec.statistics),
    ...tracingSettings(spec.tracing),
  };
  const given = new Set(spec.env?.map(({ name }) => name));
  return [
    // First: a later variable refers to it.
    { name: "CONFIG_GRPC_XDS_NODE_ID", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
    ...Object.entries(settings).flatMap(([name, value]) =>
      value === undefined || given.has(name) ? [] : [{ name, value: escaped(name, String(value)) }],
    ),
    ...(spec.env ?? []),
  ];
}

/** Kubernetes replaces $(NAME) in values; only the metadata of the node is meant to be. */
function escaped(name: string, value: string): string {
  return name === "CONFIG_GRPC_XDS_NODE_METADATA" ? value : value.replaceAll("$(", "$$$$(");
}

function listenerSettings({ tls }: RateLimitServiceSpec): SettingValues {
  const seconds = (number: number): string => `${number}s`;
  const clients = tls?.clientCertificates;
  return {
    PORT: PORTS.http,
    GRPC_PORT: PORTS.grpc,
    DEBUG_PORT: PORTS.debug,
    GRPC_MAX_CONNECTION_AGE: CONNECTION_AGE_MAX,
    SHUTDOWN_DRAIN: seconds(STOP_SECONDS.drain),
    SHUTDOWN_GRACE: seconds(STOP_SECONDS.grace),
    GRPC_SERVER_USE_TLS: tls !== undefined,
    ...(tls !== undefined && {
      GRPC_SERVER_TLS_CERT: mountedPath("grpc-tls", "tls.crt"),
      GRPC_SERVER_TLS_KEY: mountedPath("grpc-tls", "tls.key"),
      GRPC_CLIENT_TLS_CACERT: clients && mountedPath("grpc-client-ca", "ca.crt"),
      GRPC_CLIENT_TLS_SAN: clients?.subjectAlternativeName,
    }),
  };
}

function controlPlaneSettings({ namespace, fleet, spec: { controlPlane = {} }, options }: Workload): SettingValues {
  const { address, serverName } = controlPlane;
  const isPlaintext = controlPlane.plaintext ?? (address === undefined && options.controlPlane.isPlaintext);
  return {
    CONFIG_TYPE: "GRPC_XDS_SOTW",
    // Images that do not know it, earlier ones and envoyproxy/ratelimit, ignore it.
    CONFIG_GRPC_XDS_DELTA: true,
    CONFIG_GRPC_XDS_NODE_METADATA: `namespace=${namespace},pod=$(CONFIG_GRPC_XDS_NODE_ID),fleet=${fleet}`,
    CONFIG_GRPC_XDS_SERVER_URL: address ?? options.controlPlane.address,
    CONFIG_GRPC_XDS_SERVER_USE_TLS: !isPlaintext,
    ...(!isPlaintext && {
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: mountedPath("tls", "tls.crt"),
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: mountedPath("tls", "tls.key"),
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: mountedPath("tls", "ca.crt"),
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: serverName,
    }),
    CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "1s",
    XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "1s",
    XDS_CLIENT_BACKOFF_MAX_INTERVAL: "5s",
  };
}

function behaviorSettings({ failureMode, shadowMode, responseHeaders }: RateLimitServiceSpec): SettingValues {
  return {
    BACKEND_FAILURE_MODE: failureMode,
    SHADOW_MODE: shadowMode,
    ...(responseHeaders !== undefined && {
      LIMIT_RESPONSE_HEADERS_ENABLED: responseHeaders.enabled ?? true,
      LIMIT_LIMIT_HEADER: responseHeaders.limit,
      LIMIT_REMAINING_HEADER: responseHeaders.remaining,
      LIMIT_RESET_HEADER: responseHeaders.reset,
      LIMIT_RULE_HEADER: responseHeaders.rule,
    }),
  };
}

function statisticsSettings({ tags, maxDynamicKeys, push }: RateLimitServiceSpec["statistics"] = {}): SettingValues {
  const texts = Object.entries(tags ?? {}).map(([name, value]) => `${name}:${value}`);
  return {
    USE_PULLSTATS: true,
    PULLSTATS_ADDR: `:${PORTS.metrics}`,
    STATS_MAX_DYNAMIC_KEYS: maxDynamicKeys,
    EXTRA_TAGS: texts.length === 0 ? undefined : texts.join(","),
    USE_PUSHSTATS: push?.format === "statsd",
    USE_TAGGED_STATS: push?.format === "dogstatsd",
    PUSHSTATS_HOST: push?.host,
    PUSHSTATS_PORT: push?.port,
    PUSHSTATS_PROTOCOL: push?.format === "statsd" ? push.protocol : undefined,
    STATS_FLUSH_INTERVAL: push?.interval,
  };
}

function tracingSettings(tracing: RateLimitServiceSpec["tracing"]): SettingValues {
  if (tracing === undefined) return {};
  const { endpoint, protocol, samplingPercent = 100 } = tracing;
  return {
    TRACING_ENABLED: true,
    TRACING_EXPORTER_PROTOCOL: protocol,
    TRACING_SAMPLING_RATE: samplingPercent / 100,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  };
}
