// The settings of the control plane: names, units, defaults and contradictions.
import { delimiter } from "node:path";

import type { LogFormat, LogLevel } from "@weir/common/log/log";
import { readLogSettings } from "@weir/common/log/log";
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";
import { readTracingSettings, type TracingSettings } from "@weir/common/tracing/tracing";

import type { ClusterConnection } from "@weir/kubernetes/access/cluster-access";
import type { NamespaceScope } from "./source/kubernetes/kubernetes-source.ts";

/**
 * 4 MiB, the default receive limit of gRPC in Go, less space for the fields around the resources.
 */
const SNAPSHOT_MAX_BYTES = 4 * 1024 * 1024 - 64 * 1024;

/** A valid name of a namespace in Kubernetes. */
const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Most namespaces by name: each takes a connection to the API server. */
const WATCH_NAMESPACES_MAX = 100;

/** Where resources come from. */
export type SourceSettings =
  | {
      readonly kind: "directory";
      /** Folder with manifests. */
      readonly directory: string;
    }
  | { readonly kind: "kubernetes"; readonly connection: ClusterConnection; readonly scope: NamespaceScope };

/** How the ADS listener is protected. */
export type AdsSecuritySettings =
  | {
      readonly kind: "mutual-tls";
      readonly certPath: string;
      readonly keyPath: string;
      /** Authorities of client certificates. */
      readonly caPath: string;
      /** Empty: every certificate of the authorities. */
      readonly allowedNames: readonly string[];
    }
  | { readonly kind: "plaintext" };

/** All settings. */
export interface Settings {
  readonly source: SourceSettings;
  readonly ads: {
    readonly host: string;
    readonly port: number;
    readonly security: AdsSecuritySettings;
    /** Milliseconds. */
    readonly connectionAgeMaxMs: number;
  };
  readonly http: { readonly host: string; readonly port: number };
  /** Milliseconds. */
  readonly debounceQuietMs: number;
  /** Milliseconds. */
  readonly debounceMaxMs: number;
  readonly snapshotMaxBytes: number;
  /** Milliseconds; 0 publishes empty sets immediately. */
  readonly allowEmptyAfterMs: number;
  /** How long after SIGTERM streams continue while new ones are unwanted, in milliseconds. */
  readonly shutdownDrainMs: number;
  /** How long everything may take to stop after that, in milliseconds. */
  readonly shutdownGraceMs: number;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly tracing: TracingSettings;
}

/** Reads the settings; throws one SettingsError with everything that is wrong. */
export function parseSettings(env: Env): Settings {
  return settingsFrom(env, readSettings);
}

/** Every setting with its default and effect. */
export function describeSettings(): readonly SettingRow[] {
  return settingRowsOf(readSettings);
}

function readSettings(read: EnvReader): Settings {
  return {
    source: readSource(read),
    ads: {
      host: read.string("ADS_HOST", { default: "0.0.0.0", effect: "Address of the listener for rate limit pods." }),
      port: read.port("ADS_PORT", { default: 18_000, effect: "Port of the listener for rate limit pods (ADS)." }),
      security: readSecurity(read),
      connectionAgeMaxMs: read.durationMs("ADS_MAX_CONNECTION_AGE", {
        default: "1h",
        minMs: 1000,
        isTimer: true,
        effect:
          "Age at which connections of rate limit pods are closed, give or take a tenth, so that pods spread over replicas that came later.",
      }),
    },
    http: {
      host: read.string("HTTP_HOST", {
        default: "0.0.0.0",
        effect: "Address of the listener for the rollout API, status, probes and metrics.",
      }),
      port: read.port("HTTP_PORT", {
        default: 8090,
        effect: "Port of the listener for the rollout API, status, probes and metrics.",
      }),
    },
    ...readPublishing(read),
    shutdownDrainMs: read.durationMs("SHUTDOWN_DRAIN", {
      default: "5s",
      isTimer: true,
      effect: "How long after SIGTERM streams continue while /readyz already fails, so that pods connect elsewhere.",
    }),
    shutdownGraceMs: read.durationMs("SHUTDOWN_GRACE", {
      default: "10s",
      isTimer: true,
      effect: "How long everything may take to stop after that.",
    }),
    log: readLogSettings(read, { level: "info" }),
    tracing: readTracingSettings(read, { serviceName: "weir-control-plane" }),
  };
}

function readSource(read: EnvReader): SourceSettings {
  const kind = read.oneOf("SOURCE", {
    default: "directory",
    choices: ["directory", "kubernetes"],
    effect:
      "Where RateLimitConfig resources come from: directory reads manifests below SOURCE_DIRECTORY, kubernetes watches the API server of a cluster.",
  });
  const directory = read.optionalString("SOURCE_DIRECTORY", {
    effect:
      "Folder whose *.yaml, *.yml and *.json files are read, sub-folders included, and watched; required with SOURCE=directory.",
  });
  const names = read.list("WATCH_NAMESPACES", {
    effect:
      "With SOURCE=kubernetes: the namespaces whose resources are served. Not set: all, or those that WATCH_NAMESPACE_SELECTOR selects. Roles in these namespaces are enough then.",
  });
  const selector = read.optionalString("WATCH_NAMESPACE_SELECTOR", {
    effect:
      "With SOURCE=kubernetes: labels of the Namespaces whose resources are served, written as for kubectl --selector. Excludes WATCH_NAMESPACES.",
  });
  const connection = readConnection(read);
  if (kind === "kubernetes") {
    if (directory !== undefined)
      read.problem("SOURCE_DIRECTORY", directory, "nothing, because SOURCE=kubernetes reads no folder");
    return { kind, connection, scope: readScope(read, names, selector) };
  }
  if (directory === undefined)
    read.problem("SOURCE_DIRECTORY", directory, "the path of a folder with RateLimitConfig manifests");
  for (const [name, value] of Object.entries({
    WATCH_NAMESPACES: names.join(",") || undefined,
    WATCH_NAMESPACE_SELECTOR: selector,
  })) {
    if (value !== undefined) read.problem(name, value, "nothing, because SOURCE=directory reads no cluster");
  }
  return { kind, directory: directory ?? "" };
}

/** The API server, found as kubectl finds it. */
function readConnection(read: EnvReader): ClusterConnection {
  const kubeconfig = read.optionalString("KUBECONFIG", {
    effect:
      "With SOURCE=kubernetes: kubeconfig files, separated by colons. Not set: the service account of the pod, and outside of a cluster the file ~/.kube/config.",
  });
  const host = read.optionalString("KUBERNETES_SERVICE_HOST", {
    effect: "Address of the API server inside a cluster; Kubernetes sets it.",
  });
  const port = read.port("KUBERNETES_SERVICE_PORT", {
    default: 443,
    effect: "Port of the API server inside a cluster; Kubernetes sets it.",
  });
  if (kubeconfig !== undefined)
    return { kind: "kubeconfig", paths: kubeconfig.split(delimiter).filter((path) => path !== "") };
  return host === undefined ? { kind: "kubeconfig", paths: [] } : { kind: "in-cluster", host, port };
}

function readScope(read: EnvReader, names: readonly string[], selector: string | undefined): NamespaceScope {
  const allowed = "names of namespaces, such as team-a,team-b";
  for (const name of names) if (!NAMESPACE_NAME.test(name)) read.problem("WATCH_NAMESPACES", name, allowed);
  if (names.length > WATCH_NAMESPACES_MAX) {
    read.problem(
      "WATCH_NAMESPACES",
      `${names.length} names`,
      `at most ${WATCH_NAMESPACES_MAX} names; use WATCH_NAMESPACE_SELECTOR`,
    );
  }
  if (selector === undefined)
    return names.length === 0 ? { kind: "all" } : { kind: "named", names: [...new Set(names)] };
  if (names.length > 0)
    read.problem("WATCH_NAMESPACE_SELECTOR", selector, "nothing, because WATCH_NAMESPACES names the namespaces");
  return { kind: "labelled", selector };
}

function readSecurity(read: EnvReader): AdsSecuritySettings {
  const paths = {
    certPath: read.optionalString("ADS_TLS_CERT", {
      effect: "File with the certificate of the ADS listener, PEM; required with mutual TLS.",
    }),
    keyPath: read.optionalString("ADS_TLS_KEY", {
      effect: "File with the key of that certificate, PEM; required with mutual TLS.",
    }),
    caPath: read.optionalString("ADS_TLS_CLIENT_CACERT", {
      effect: "File with the authorities whose client certificates are accepted, PEM; required with mutual TLS.",
    }),
  };
  const allowedNames = read.list("ADS_ALLOWED_SANS", {
    effect:
      "Names of which a client certificate must have one (DNS name, URI or IP address, exact). Not set: every certificate of the authorities.",
  });
  const isPlaintext = read.boolean("ADS_PLAINTEXT", {
    default: false,
    effect:
      "Serves pods without TLS: every client that reaches the port may read all rules. Excludes the other ADS_ settings on TLS.",
  });
  const named = { ADS_TLS_CERT: paths.certPath, ADS_TLS_KEY: paths.keyPath, ADS_TLS_CLIENT_CACERT: paths.caPath };
  if (isPlaintext) {
    const given = { ...named, ADS_ALLOWED_SANS: allowedNames.join(",") || undefined };
    for (const [name, value] of Object.entries(given)) {
      if (value !== undefined) read.problem(name, value, "nothing, because ADS_PLAINTEXT=true serves without TLS");
    }
    return { kind: "plaintext" };
  }
  for (const [name, value] of Object.entries(named)) {
    if (value === undefined)
      read.problem(name, value, "the path of a PEM file; only ADS_PLAINTEXT=true serves without TLS");
  }
  const { certPath = "", keyPath = "", caPath = "" } = paths;
  return { kind: "mutual-tls", certPath, keyPath, caPath, allowedNames };
}

function readPublishing(
  read: EnvReader,
): Pick<Settings, "debounceQuietMs" | "debounceMaxMs" | "snapshotMaxBytes" | "allowEmptyAfterMs"> {
  const debounceQuietMs = read.durationMs("DEBOUNCE_QUIET", {
    default: "100ms",
    isTimer: true,
    effect: "How long changes must be quiet before they are published.",
  });
  const debounceMaxMs = read.durationMs("DEBOUNCE_MAX", {
    default: "1s",
    isTimer: true,
    effect: "How long an endless burst of changes can put off publishing.",
  });
  if (debounceMaxMs < debounceQuietMs) {
    read.problem(
      "DEBOUNCE_MAX",
      `${debounceMaxMs}ms`,
      `a duration not shorter than DEBOUNCE_QUIET, which is ${debounceQuietMs}ms`,
    );
  }
  return {
    debounceQuietMs,
    debounceMaxMs,
    snapshotMaxBytes: read.sizeBytes("SNAPSHOT_MAX_BYTES", {
      default: SNAPSHOT_MAX_BYTES,
      min: 1,
      effect:
        "Largest configuration for one fleet, serialised; a larger one is not published. The default is what a Go gRPC client receives.",
    }),
    allowEmptyAfterMs: read.durationMs("ALLOW_EMPTY_AFTER", {
      default: "10s",
      isTimer: true,
      effect:
        "How long there must be no resource at all before pods are sent the empty configuration; 0 sends it immediately. Time in which the source cannot be read does not count. Resources that vanish with their CustomResourceDefinition are served for as long after it is back.",
    }),
  };
}
