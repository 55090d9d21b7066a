// Settings of the listeners, of health, and of the stop of the process.
import type { EnvReader } from "@weir/common/settings/read-env";
import type { TlsFilePaths } from "@weir/common/tls/tls-files";
import { readTlsPaths } from "@weir/common/tls/tls-settings";

import type { HealthOptions } from "../health/health.ts";
import type { DebugListenerOptions } from "../transport/debug/debug-listener.ts";
import type { GrpcTransportOptions } from "../transport/grpc/grpc-transport.ts";

/**
 * Longest age of a connection, in milliseconds (22 days): a tenth is added at random, and a timer
 * cannot wait longer than 24.8 days.
 */
const CONNECTION_AGE_MAX_MS = 22 * 24 * 3600 * 1000;

/** A TCP address to listen on. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The gRPC listener: the options of the transport, and its TLS as files. */
export interface GrpcSettings extends Omit<GrpcTransportOptions, "tls" | "request"> {
  /** GRPC_SERVER_USE_TLS with its files; undefined = plain text, the default. */
  readonly tls: GrpcTlsSettings | undefined;
}

/** TLS of the gRPC listener. With a CA, clients must present a certificate that it issued. */
export interface GrpcTlsSettings {
  readonly paths: TlsFilePaths;
  /** GRPC_CLIENT_TLS_SAN; undefined = any client of the CA. */
  readonly clientName: string | undefined;
}

/** Most worker processes: more than the processors of usual machines. */
const WORKERS_MAX = 64;

/** The listeners, health, and the stop of the process. */
export interface ServerSettings {
  /** WORKERS: processes that serve gRPC; 1, the default, is this one alone. */
  readonly workers: number | "auto";
  /** HOST and PORT; default 0.0.0.0:8080. */
  readonly http: HostPort;
  readonly grpc: GrpcSettings;
  /** DEBUG_HOST, DEBUG_PORT (default 0.0.0.0:6070) and DEBUG_PROFILING. */
  readonly debug: DebugListenerOptions;
  readonly health: HealthOptions;
  readonly shutdown: {
    /**
     * SHUTDOWN_DRAIN: time that listeners stay open after SIGTERM, in milliseconds; default 5 s.
     */
    readonly drainMs: number;
    /**
     * SHUTDOWN_GRACE: time for running calls, and then for the rest, in milliseconds; default 10 s.
     */
    readonly graceMs: number;
  };
}

/** Reads the settings. */
export function readServerSettings(read: EnvReader): ServerSettings {
  const http = {
    host: read.host("HOST", { effect: "Address of the HTTP listener (/json, /healthcheck)" }),
    port: read.port("PORT", { default: 8080, effect: "Port of the HTTP listener; 0 takes a free one." }),
  };
  return {
    http,
    grpc: readGrpc(read),
    workers: readWorkers(read),
    debug: {
      host: read.host("DEBUG_HOST", { effect: "Address of the debug listener" }),
      port: read.port("DEBUG_PORT", { default: 6070, effect: "Port of the debug listener; 0 takes a free one." }),
      profiling: {
        forEveryone: read.boolean("DEBUG_PROFILING", {
          default: false,
          effect:
            "Lets every peer of the debug listener take profiles, which contain secrets; otherwise only this machine may.",
        }),
      },
    },
    health: {
      withConfig: read.boolean("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", {
        default: false,
        effect: "Unhealthy while no domain is loaded.",
      }),
      withActiveConnection: read.boolean(
        ["KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION", "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION"],
        {
          default: false,
          effect: "Unhealthy while there is no connection to the counter store.",
        },
      ),
    },
    shutdown: {
      drainMs: read.durationMs("SHUTDOWN_DRAIN", {
        default: "5s",
        isTimer: true,
        effect: "Time that the listeners stay open after SIGTERM while health is unhealthy, so that proxies move away.",
      }),
      graceMs: read.durationMs("SHUTDOWN_GRACE", {
        default: "10s",
        isTimer: true,
        effect: "Time for running calls, and then for the other parts, to finish.",
      }),
    },
  };
}

function readWorkers(read: EnvReader): number | "auto" {
  const written = read.string("WORKERS", {
    default: "1",
    effect:
      "Processes that serve gRPC on the one port, with one more for everything else; auto is one for each processor of the container's quota, rounded down, at most 4, and 1 with the memory backend. More than 1 needs counters outside the process.",
  });
  const workers = written === "auto" ? written : Number(written);
  if (workers !== "auto" && !(Number.isInteger(workers) && workers >= 1 && workers <= WORKERS_MAX)) {
    read.problem("WORKERS", written, `auto, or a whole number from 1 to ${WORKERS_MAX}`);
    return 1;
  }
  return workers;
}

function readGrpc(read: EnvReader): GrpcSettings {
  const path = read.optionalString("GRPC_UDS", {
    effect: "Path of a unix socket for gRPC; GRPC_HOST and GRPC_PORT are not used then.",
  });
  const host = read.host("GRPC_HOST", { effect: "Address of the gRPC listener" });
  const port = read.port("GRPC_PORT", { default: 8081, effect: "Port of the gRPC listener; 0 takes a free one." });
  return {
    address: path === undefined ? { kind: "tcp", host, port } : { kind: "unix", path },
    connectionAgeMaxMs: Math.min(
      read.durationMs("GRPC_MAX_CONNECTION_AGE", {
        default: "24h",
        isTimer: true,
        effect:
          "Age at which a gRPC connection receives GOAWAY, plus or minus a tenth at random; 0 means never, and more than 22 days means 22 days.",
      }),
      CONNECTION_AGE_MAX_MS,
    ),
    connectionAgeGraceMs: read.durationMs("GRPC_MAX_CONNECTION_AGE_GRACE", {
      default: "1h",
      isTimer: true,
      effect: "Time that its running calls then have before it is closed; 0 means no limit.",
    }),
    tls: readGrpcTls(read),
  };
}

function readGrpcTls(read: EnvReader): GrpcTlsSettings | undefined {
  const useTls = read.boolean("GRPC_SERVER_USE_TLS", { default: false, effect: "TLS on the gRPC listener." });
  const paths = readTlsPaths(read, {
    cert: {
      names: "GRPC_SERVER_TLS_CERT",
      effect: "File of the server's certificate chain; reloaded when it changes.",
    },
    key: { names: "GRPC_SERVER_TLS_KEY", effect: "File of its private key." },
    ca: {
      names: "GRPC_CLIENT_TLS_CACERT",
      effect:
        "File of the authority of clients; when set, clients must present a certificate that it issued, and no other authority is trusted.",
    },
  });
  const clientName = read.optionalString("GRPC_CLIENT_TLS_SAN", {
    effect: "DNS name that the client's certificate must be valid for.",
  });
  if (!useTls) return undefined;
  const { certPath, keyPath, caPath } = paths;
  if (certPath === undefined)
    read.problem(
      "GRPC_SERVER_TLS_CERT",
      certPath,
      "the path of a certificate file, because GRPC_SERVER_USE_TLS is true",
    );
  if (keyPath === undefined)
    read.problem("GRPC_SERVER_TLS_KEY", keyPath, "the path of a key file, because GRPC_SERVER_USE_TLS is true");
  if (clientName !== undefined && caPath === undefined)
    read.problem("GRPC_CLIENT_TLS_CACERT", caPath, "the path of a CA file, because GRPC_CLIENT_TLS_SAN is set");
  return { paths, clientName };
}
