// The settings of the control plane: names, units, defaults and contradictions.
import { relative, sep } from "node:path";

import type { LogFormat, LogLevel } from "@weir/common/log/log";
import { readLogSettings } from "@weir/common/log/log";
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";
import { readTracingSettings, type TracingSettings } from "@weir/common/tracing/tracing";

import type { ClusterConnection } from "@weir/kubernetes/access/cluster-access";
import { checkNamespaceNames, readConnection } from "@weir/kubernetes/access/connection-settings";
import { STREAMS_MAX } from "./ads/open-streams.ts";
import { type AdsSecuritySettings, readAdsSecurity } from "./ads-security-settings.ts";
import type { NamespaceScope } from "./source/kubernetes/kubernetes-source.ts";

/**
 * 4 MiB, the default receive limit of gRPC in Go, less space for the fields around the resources.
 */
const SNAPSHOT_MAX_BYTES = 4 * 1024 * 1024 - 64 * 1024;

/**
 * Two thousand: a fleet of a thousand pods whose earlier streams have not ended yet; a fifth of what a replica has.
 */
const STREAMS_PER_IDENTITY_MAX = 2000;

/** The source of resources. */
export type SourceSettings =
  | {
      readonly kind: "directory";
      /** Folder with manifests. */
      readonly directory: string;
      /** Folder in which last good revisions outlast the process; undefined: memory only. */
      readonly stateDirectory: string | undefined;
    }
  | { readonly kind: "kubernetes"; readonly connection: ClusterConnection; readonly scope: NamespaceScope };

export interface Settings {
  readonly source: SourceSettings;
  readonly ads: {
    readonly host: string;
    readonly port: number;
    readonly security: AdsSecuritySettings;
    /** Milliseconds. */
    readonly connectionAgeMaxMs: number;
    /** Most streams of one namespace, or address, on this replica. */
    readonly streamsPerIdentityMax: number;
  };
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** True if reports are served there, next to probes and metrics. */
    readonly hasReports: boolean;
    /** Port of the loopback addresses, which always have reports; 0: no such listener. */
    readonly consolePort: number;
    /** True if the start fails when that port is taken; else the control plane runs without that listener. */
    readonly needsConsole: boolean;
  };
  /** Milliseconds. */
  readonly debounceQuietMs: number;
  /** Milliseconds. */
  readonly debounceMaxMs: number;
  readonly snapshotMaxBytes: number;
  /** For the resources of one namespace in the snapshot of a fleet; undefined: no bound. */
  readonly namespaceMaxBytes: number | undefined;
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
  const source = readSource(read);
  return {
    source,
    ads: {
      host: read.host("ADS_HOST", { effect: "Address of the listener for rate limit pods" }),
      port: read.port("ADS_PORT", { default: 18_000, effect: "Port of the listener for rate limit pods (ADS)." }),
      security: readAdsSecurity(read),
      connectionAgeMaxMs: read.durationMs("ADS_MAX_CONNECTION_AGE", {
        default: "1h",
        minMs: 1000,
        isTimer: true,
        effect:
          "Age at which connections of rate limit pods are closed, give or take a tenth, so that pods spread over replicas that came later.",
      }),
      streamsPerIdentityMax: read.integer("ADS_STREAMS_PER_IDENTITY", {
        default: STREAMS_PER_IDENTITY_MAX,
        min: 1,
        max: STREAMS_MAX,
        effect:
          "Most open streams of rate limit pods of one namespace, that of their certificates; without ADS_FLEET_FROM_CERTIFICATE=true, of one address; with ADS_PLAINTEXT=true it does not apply. A pod needs one, and a replica has 10,000 in all.",
      }),
    },
    http: {
      host: read.host("HTTP_HOST", {
        effect: "Address of the listener for the rollout API, status, probes and metrics",
      }),
      port: read.port("HTTP_PORT", {
        default: 8090,
        effect: "Port of the listener for the rollout API, status, probes and metrics.",
      }),
      hasReports: read.boolean("HTTP_REPORTS", {
        default: true,
        effect:
          "Serves the rollout API on HTTP_PORT, to every client that reaches the port. false leaves probes and metrics.",
      }),
      consolePort: read.port("CONSOLE_PORT", {
        default: 8092,
        effect:
          "Port on 127.0.0.1 and ::1 alone, for kubectl port-forward and kubectl weir: serves what HTTP_PORT does, with reports also when HTTP_REPORTS=false. 0 opens no such listener. Not set: when the port is taken, the control plane logs a warning and runs without the listener.",
      }),
      needsConsole: read.isSet("CONSOLE_PORT"),
    },
    ...readPublishing(read, source),
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
  const stateDirectory = read.optionalString("STATE_DIRECTORY", {
    effect:
      "With SOURCE=directory: a writable folder of this replica that keeps the last good revisions of each resource, so that a restart while a manifest is broken loses no limit. Not set: they are kept in memory.",
  });
  const names = read.list("WATCH_NAMESPACES", {
    effect:
      "With SOURCE=kubernetes: the namespaces whose resources are served. Not set: all, or those that WATCH_NAMESPACE_SELECTOR selects. Roles in these namespaces are enough then.",
  });
  const selector = read.optionalString("WATCH_NAMESPACE_SELECTOR", {
    effect:
      "With SOURCE=kubernetes: labels of the Namespaces whose resources are served, written as for kubectl --selector. Excludes WATCH_NAMESPACES.",
  });
  const connection = readConnection(read, { condition: "With SOURCE=kubernetes: " });
  if (kind === "kubernetes") {
    if (directory !== undefined)
      read.problem("SOURCE_DIRECTORY", directory, "nothing, because SOURCE=kubernetes reads no folder");
    if (stateDirectory !== undefined)
      read.problem("STATE_DIRECTORY", stateDirectory, "nothing, because only SOURCE=directory keeps revisions there");
    return { kind, connection, scope: readScope(read, names, selector) };
  }
  if (directory === undefined)
    read.problem("SOURCE_DIRECTORY", directory, "the path of a folder with RateLimitConfig manifests");
  if (directory !== undefined && stateDirectory !== undefined && isInside(stateDirectory, directory))
    read.problem("STATE_DIRECTORY", stateDirectory, "a folder outside of SOURCE_DIRECTORY");
  for (const [name, value] of Object.entries({
    WATCH_NAMESPACES: names.join(",") || undefined,
    WATCH_NAMESPACE_SELECTOR: selector,
  })) {
    if (value !== undefined) read.problem(name, value, "nothing, because SOURCE=directory reads no cluster");
  }
  return { kind, directory: directory ?? "", stateDirectory };
}

function readScope(read: EnvReader, names: readonly string[], selector: string | undefined): NamespaceScope {
  checkNamespaceNames(read, { setting: "WATCH_NAMESPACES", names, alternative: "use WATCH_NAMESPACE_SELECTOR" });
  if (selector === undefined)
    return names.length === 0 ? { kind: "all" } : { kind: "named", names: [...new Set(names)] };
  if (names.length > 0)
    read.problem("WATCH_NAMESPACE_SELECTOR", selector, "nothing, because WATCH_NAMESPACES names the namespaces");
  return { kind: "labelled", selector };
}

function readPublishing(
  read: EnvReader,
  source: SourceSettings,
): Pick<
  Settings,
  "debounceQuietMs" | "debounceMaxMs" | "snapshotMaxBytes" | "namespaceMaxBytes" | "allowEmptyAfterMs"
> {
  const debounceQuietMs = read.durationMs("DEBOUNCE_QUIET", {
    default: "100ms",
    isTimer: true,
    effect:
      "How long changes must be quiet before they are published. The first change after such a time is published after 10 ms.",
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
  const snapshotMaxBytes = read.sizeBytes("SNAPSHOT_MAX_BYTES", {
    default: SNAPSHOT_MAX_BYTES,
    min: 1,
    effect:
      "Largest configuration for one fleet, serialised; what would exceed it waits. The default is what a Go gRPC client receives.",
  });
  const namespaceMaxBytes = read.optionalSizeBytes("SNAPSHOT_NAMESPACE_MAX_BYTES", {
    min: 1,
    effect:
      "Most bytes of SNAPSHOT_MAX_BYTES for the resources of one namespace. Not set: half of it; with SOURCE=directory and with one name in WATCH_NAMESPACES no bound.",
  });
  return {
    debounceQuietMs,
    debounceMaxMs,
    snapshotMaxBytes,
    namespaceMaxBytes: namespaceMaxBytes ?? (isShared(source) ? Math.floor(snapshotMaxBytes / 2) : undefined),
    allowEmptyAfterMs: read.durationMs("ALLOW_EMPTY_AFTER", {
      default: "10s",
      isTimer: true,
      effect:
        "How long there must be no resource at all before pods are sent the empty configuration; 0 sends it immediately. Time in which the source cannot be read does not count. Resources that vanish with their CustomResourceDefinition are served for as long after it is back.",
    }),
  };
}

/** Returns true if the resources of several tenants may come together: of more than one namespace of a cluster. */
function isShared(source: SourceSettings): boolean {
  return source.kind === "kubernetes" && !(source.scope.kind === "named" && source.scope.names.length === 1);
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`);
}
