// Settings of the configuration source: files, or a configuration server.
import type { EnvReader } from "@weir/common/settings/read-env";
import { checkCertificatePair, readTlsPaths } from "@weir/common/tls/tls-settings";

import type { RuleDirectoryOptions } from "../config/files/rule-directory.ts";
import type { XdsOptions, XdsTlsOptions } from "../config/xds/xds-options.ts";

/** Values of CONFIG_TYPE. */
type ConfigType = "FILE" | "GRPC_XDS_SOTW" | "GRPC_XDS_DELTA";

/** The source of the configuration. */
export type ConfigSourceSettings =
  | { readonly kind: "files"; readonly directory: RuleDirectoryOptions }
  | { readonly kind: "xds"; readonly client: XdsOptions };

/** The source, and how its configuration is applied. */
export interface ConfigSettings {
  /** CONFIG_TYPE; default FILE. */
  readonly source: ConfigSourceSettings;
  /**
   * FORCE_START_WITHOUT_INITIAL_CONFIG: gRPC and HTTP open before the first configuration; default
   * false.
   */
  readonly forceStart: boolean;
  /** MERGE_DOMAIN_CONFIG: several files or resources may define one domain; default false. */
  readonly mergeDomains: boolean;
}

/** Reads the settings of both sources, so that a mistake in any of them is reported. */
export function readConfigSettings(read: EnvReader): ConfigSettings {
  const kind = read.oneOf("CONFIG_TYPE", {
    default: "FILE",
    choices: ["FILE", "GRPC_XDS_SOTW", "GRPC_XDS_DELTA"],
    effect: "Source of the rules: files, or a configuration server that sends everything, or what changes.",
  });
  const directory = readDirectory(read);
  const client = readXds(read, kind);
  return {
    source: kind === "FILE" ? { kind: "files", directory } : { kind: "xds", client },
    forceStart: read.boolean("FORCE_START_WITHOUT_INITIAL_CONFIG", {
      default: false,
      effect: "Opens gRPC and HTTP before the first configuration is active; calls fail until then.",
    }),
    mergeDomains: read.boolean("MERGE_DOMAIN_CONFIG", {
      default: false,
      effect: "Several files or resources may define one domain.",
    }),
  };
}

function readDirectory(read: EnvReader): RuleDirectoryOptions {
  return {
    root: read.string("RUNTIME_ROOT", {
      default: "/srv/runtime_data/current",
      effect: "Root of the rule files, often a symbolic link that is swapped.",
    }),
    subdirectory: read.string("RUNTIME_SUBDIRECTORY", { default: "", effect: "Folder below the root." }),
    appDirectory: read.string("RUNTIME_APPDIRECTORY", {
      default: "config",
      effect: "Folder below that with the *.yaml and *.yml files.",
    }),
    ignoreDotFiles: read.boolean("RUNTIME_IGNOREDOTFILES", {
      default: false,
      effect: "Skips files and folders that begin with a dot.",
    }),
    watchRoot: read.boolean("RUNTIME_WATCH_ROOT", {
      default: true,
      effect:
        "Reloads rules when the root, or the ..data link of a ConfigMap, is swapped; false: when any file changes.",
    }),
  };
}

function readXds(read: EnvReader, kind: ConfigType): XdsOptions {
  const isSelected = kind !== "FILE";
  const serverUrl = read.string("CONFIG_GRPC_XDS_SERVER_URL", {
    default: "localhost:18000",
    effect: "Configuration server, host:port.",
  });
  if (isSelected && !/^[^/\s]+:\d{1,5}$/.test(serverUrl))
    read.problem("CONFIG_GRPC_XDS_SERVER_URL", serverUrl, "host:port, such as localhost:18000");
  const messageMaxBytes = read.integer("XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES", {
    default: 0,
    min: 0,
    max: 2 ** 31 - 1,
    effect: "Largest message from the configuration server; 0 means 4 MiB.",
  });
  const isDelta = read.boolean("CONFIG_GRPC_XDS_DELTA", {
    default: false,
    effect: "Makes GRPC_XDS_SOTW mean GRPC_XDS_DELTA; images that know neither name continue with GRPC_XDS_SOTW.",
  });
  return {
    isIncremental: kind === "GRPC_XDS_DELTA" || isDelta,
    serverUrl,
    nodeId: read.string("CONFIG_GRPC_XDS_NODE_ID", {
      default: "default",
      effect: "Id of this node; the part before the first slash is its fleet.",
    }),
    nodeMetadata: read.map("CONFIG_GRPC_XDS_NODE_METADATA", {
      separator: "=",
      effect: "Metadata of this node, such as fleet=gateway.",
    }),
    headers: readHeaders(read),
    tls: readXdsTls(read, isSelected),
    messageMaxBytes: messageMaxBytes === 0 ? undefined : messageMaxBytes,
    connectRetryMs: read.durationMs("CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL", {
      default: "3s",
      minMs: 1,
      isTimer: true,
      effect: "First wait after a connection to the configuration server failed; later ones are longer.",
    }),
    backoff: readBackoff(read),
  };
}

function readHeaders(read: EnvReader): ReadonlyMap<string, string> {
  const name = "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS";
  const headers = read.map(name, {
    effect: "Headers added to requests to the configuration server, for example for authorization.",
  });
  for (const key of headers.keys()) {
    // The value may be a credential, so only the name is shown.
    if (!/^[0-9a-z_.-]+$/i.test(key) || key.toLowerCase().endsWith("-bin")) {
      read.problem(name, key, "header names of letters, digits, '-', '_' and '.' that do not end in -bin");
    }
  }
  return headers;
}

function readXdsTls(read: EnvReader, isSelected: boolean): XdsTlsOptions | undefined {
  const useTls = read.boolean("CONFIG_GRPC_XDS_SERVER_USE_TLS", {
    default: true,
    effect: "TLS to the configuration server.",
  });
  const pair = { cert: "CONFIG_GRPC_XDS_CLIENT_TLS_CERT", key: "CONFIG_GRPC_XDS_CLIENT_TLS_KEY" };
  const paths = readTlsPaths(read, {
    cert: { names: pair.cert, effect: "File of the client's certificate chain." },
    key: { names: pair.key, effect: "File of its private key." },
    ca: {
      names: "CONFIG_GRPC_XDS_SERVER_TLS_CACERT",
      effect: "File of an authority to trust for the server, in addition to the public ones and those of the system.",
    },
  });
  const serverName = read.optionalString("CONFIG_GRPC_XDS_SERVER_TLS_SAN", {
    effect: "Name that the server's certificate must be valid for, instead of its host name.",
  });
  if (!useTls) return undefined;
  if (isSelected) checkCertificatePair(read, paths, pair);
  return { paths, serverName };
}

function readBackoff(read: EnvReader): XdsOptions["backoff"] {
  const initialMs = read.durationMs("XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", {
    default: "10s",
    minMs: 1,
    isTimer: true,
    effect: "First wait after a stream from the configuration server broke.",
  });
  const maxMs = read.durationMs("XDS_CLIENT_BACKOFF_MAX_INTERVAL", {
    default: "60s",
    minMs: 1,
    isTimer: true,
    effect: "Longest such wait, the first one included.",
  });
  return {
    initialMs: Math.min(initialMs, maxMs),
    maxMs,
    factor: read.number("XDS_CLIENT_BACKOFF_RANDOM_FACTOR", {
      default: 0.5,
      min: 0,
      max: 100,
      effect: "How much longer each wait is than the one before.",
    }),
    jitter: read.boolean("XDS_CLIENT_BACKOFF_JITTER", {
      default: true,
      effect: "Draws each wait from its upper half, so that pods do not reconnect at the same time.",
    }),
  };
}
