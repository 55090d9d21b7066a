// The settings of the operator: names, units, defaults and contradictions.
import { readFileSync } from "node:fs";

import type { LogFormat, LogLevel } from "@weir/common/log/log";
import { readLogSettings } from "@weir/common/log/log";
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";
import { readTracingSettings, type TracingSettings } from "@weir/common/tracing/tracing";
import type { ClusterConnection } from "@weir/kubernetes/access/cluster-access";
import { checkNamespaceNames, readConnection } from "@weir/kubernetes/access/connection-settings";

import type { LeaseSettings } from "./leader/lease.ts";
import { type DataPlaneMonitoring, readMonitoring } from "./workload/monitoring-settings.ts";

/** The file in which Kubernetes mounts the namespace of a pod's service account. */
const NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/** The namespace of the operator when nothing names another. */
const DEFAULT_NAMESPACE = "weir-system";

/** A valid name of an object such as a Service or a Lease (RFC 1123 subdomain, without dots). */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** How the operator protects its connections to the control plane; undefined: without TLS. */
export interface ControlPlaneTls {
  readonly certPath: string;
  readonly keyPath: string;
  /** Authorities of the control plane's certificate. */
  readonly caPath: string;
}

/** The listener of the admission webhook. */
export interface WebhookSettings {
  readonly host: string;
  readonly port: number;
  /** Files with certificate and key. */
  readonly tls: { readonly certPath: string; readonly keyPath: string };
}

export interface Settings {
  /** The namespace of its Lease, its Secrets and the control plane. */
  readonly namespace: string;
  readonly connection: ClusterConnection;
  /** The namespaces whose resources it works for; undefined: all. */
  readonly namespaces: readonly string[] | undefined;
  /** Labels of the Namespaces whose RateLimitConfigs the control plane serves; undefined: it does not ask for labels. */
  readonly namespaceSelector: string | undefined;
  readonly http: { readonly host: string; readonly port: number };
  readonly lease: LeaseSettings;
  readonly reconcile: {
    /** Objects of one kind that are worked on at a time. */
    readonly concurrency: number;
    /** Milliseconds. */
    readonly resyncMs: number;
  };
  readonly controlPlane: {
    /** Headless Service of the replicas, in the operator's namespace; data planes connect there, too. */
    readonly service: string;
    /** Name of the port of that Service. */
    readonly portName: string;
    /** Service for pods that the operator does not make, in the operator's namespace. */
    readonly adsService: string;
    /** Port of both for pods. */
    readonly adsPort: number;
    readonly tls: ControlPlaneTls | undefined;
  };
  /** The domain of the names of Services. */
  readonly clusterDomain: string;
  /** The maker of the certificates: the operator, or something else that writes the Secrets. */
  readonly certificates: "operator" | "external";
  /** Service of the webhook, in the operator's namespace. */
  readonly webhookService: string;
  /** Undefined: no webhook. */
  readonly webhook: WebhookSettings | undefined;
  /** Image of data planes whose resource names none. */
  readonly image: string;
  /** Names of the Secrets with which it is pulled. */
  readonly imagePullSecrets: readonly string[];
  readonly monitoring: DataPlaneMonitoring;
  /** How long everything may take to stop, in milliseconds. */
  readonly shutdownGraceMs: number;
  /** Also of the data planes. */
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly tracing: TracingSettings;
}

/**
 * Reads the settings; throws one SettingsError with everything that is wrong. `namespaceFile` is that
 * of the service account.
 */
export function parseSettings(env: Env, { namespaceFile = NAMESPACE_FILE } = {}): Settings {
  return settingsFrom(env, (read) => readSettings(read, () => namespaceIn(namespaceFile)));
}

/** Every setting with its default and effect. */
export function describeSettings(): readonly SettingRow[] {
  return settingRowsOf((read) => readSettings(read, () => undefined));
}

function readSettings(read: EnvReader, podNamespace: () => string | undefined): Settings {
  const controlPlane = readControlPlane(read);
  return {
    namespace: readNamespace(read) ?? podNamespace() ?? DEFAULT_NAMESPACE,
    connection: readConnection(read),
    ...readNamespaces(read),
    http: {
      host: read.host("HTTP_HOST", { effect: "Address of the listener for probes and metrics" }),
      port: read.port("HTTP_PORT", { default: 8091, effect: "Port of the listener for probes and metrics." }),
    },
    lease: readLease(read),
    reconcile: {
      concurrency: read.integer("RECONCILE_CONCURRENCY", {
        default: 8,
        min: 1,
        max: 100,
        effect: "Objects of one kind that are worked on at a time.",
      }),
      resyncMs: read.durationMs("RESYNC", {
        default: "10m",
        minMs: 1000,
        isTimer: true,
        effect: "Within which time every object is compared with what is wanted although nothing has changed.",
      }),
    },
    controlPlane,
    clusterDomain: read.string("CLUSTER_DOMAIN", {
      default: "cluster.local",
      effect: "Domain of the names of Services, for the certificates that the operator makes.",
    }),
    ...readCertificates(read, controlPlane.tls),
    image: read.string("IMAGE", {
      default: "weir-ratelimit:latest",
      effect: "Image of the data planes whose RateLimitService names none.",
    }),
    imagePullSecrets: readPullSecrets(read),
    monitoring: readMonitoring(read),
    shutdownGraceMs: read.durationMs("SHUTDOWN_GRACE", {
      default: "10s",
      isTimer: true,
      effect: "How long everything may take to stop.",
    }),
    log: readLogSettings(read, { level: "info" }),
    tracing: readTracingSettings(read, { serviceName: "weir-operator" }),
  };
}

function readNamespace(read: EnvReader): string | undefined {
  const name = read.optionalString("OPERATOR_NAMESPACE", {
    effect: `Namespace of the Lease, of the certificates that the operator makes, and of the control plane. Not set: that of the pod's service account, and outside of a cluster ${DEFAULT_NAMESPACE}.`,
  });
  return checkName(read, "OPERATOR_NAMESPACE", name);
}

function readNamespaces(read: EnvReader): Pick<Settings, "namespaces" | "namespaceSelector"> {
  const names = read.list("WATCH_NAMESPACES", {
    effect:
      "Namespaces whose resources the operator works for. Not set: all. Roles in these namespaces and in OPERATOR_NAMESPACE are enough then.",
  });
  checkNamespaceNames(read, {
    setting: "WATCH_NAMESPACES",
    names,
    alternative: "leave it out and give the operator the rights in the whole cluster",
  });
  const namespaceSelector = read.optionalString("WATCH_NAMESPACE_SELECTOR", {
    effect:
      "The same as of the control plane: in Namespaces without these labels the status of each RateLimitConfig is NamespaceNotSelected. Excludes WATCH_NAMESPACES.",
  });
  if (namespaceSelector !== undefined && names.length > 0)
    read.problem(
      "WATCH_NAMESPACE_SELECTOR",
      namespaceSelector,
      "nothing, because WATCH_NAMESPACES names the namespaces",
    );
  return { namespaces: names.length === 0 ? undefined : [...new Set(names)], namespaceSelector };
}

function readLease(read: EnvReader): LeaseSettings {
  const name = read.string("LEASE_NAME", {
    default: "weir-operator",
    effect: "Name of the Lease in OPERATOR_NAMESPACE that makes one replica the leader.",
  });
  checkName(read, "LEASE_NAME", name);
  const durationMs = read.durationMs("LEASE_DURATION", {
    default: "15s",
    minMs: 1000,
    isTimer: true,
    effect:
      "How long other replicas wait after the last renewal that they saw before one of them takes over; whole seconds.",
  });
  const renewDeadlineMs = read.durationMs("LEASE_RENEW_DEADLINE", {
    default: "10s",
    minMs: 100,
    isTimer: true,
    effect: "How long after its last renewal a leader works on. A write may take as long as LEASE_DURATION is longer.",
  });
  const retryPeriodMs = read.durationMs("LEASE_RETRY_PERIOD", {
    default: "2s",
    minMs: 10,
    isTimer: true,
    effect: "Time between two attempts to renew the Lease, or to take it.",
  });
  const written = (ms: number): string => `${ms / 1000}s`;
  // The field of a Lease counts seconds.
  if (durationMs % 1000 !== 0) read.problem("LEASE_DURATION", written(durationMs), "a whole number of seconds");
  if (renewDeadlineMs >= durationMs)
    read.problem(
      "LEASE_RENEW_DEADLINE",
      written(renewDeadlineMs),
      `less than LEASE_DURATION, which is ${written(durationMs)}`,
    );
  if (retryPeriodMs * 2 > renewDeadlineMs)
    read.problem(
      "LEASE_RETRY_PERIOD",
      written(retryPeriodMs),
      `at most half of LEASE_RENEW_DEADLINE, which is ${written(renewDeadlineMs)}`,
    );
  return { name, durationMs, renewDeadlineMs, retryPeriodMs };
}

function readControlPlane(read: EnvReader): Settings["controlPlane"] {
  const service = read.string("CONTROL_PLANE_SERVICE", {
    default: "weir-control-plane-headless",
    effect: "Headless Service of the control plane's replicas, in OPERATOR_NAMESPACE, for reports and data planes.",
  });
  checkName(read, "CONTROL_PLANE_SERVICE", service);
  const portName = read.string("CONTROL_PLANE_PORT_NAME", {
    default: "ads",
    effect: "Name of the port of that Service on which the replicas report the rollout.",
  });
  const adsService = read.string("CONTROL_PLANE_ADS_SERVICE", {
    default: "weir-control-plane",
    effect:
      "Service with one address for pods that the operator does not make, in OPERATOR_NAMESPACE; its names are in the certificate of the control plane.",
  });
  checkName(read, "CONTROL_PLANE_ADS_SERVICE", adsService);
  const adsPort = read.port("CONTROL_PLANE_ADS_PORT", { default: 18_000, effect: "Port of both Services for pods." });
  const paths = {
    CONTROL_PLANE_TLS_CERT: read.optionalString("CONTROL_PLANE_TLS_CERT", {
      effect: "File with the certificate that the operator shows to the control plane, PEM.",
    }),
    CONTROL_PLANE_TLS_KEY: read.optionalString("CONTROL_PLANE_TLS_KEY", {
      effect: "File with the key of that certificate, PEM.",
    }),
    CONTROL_PLANE_TLS_CACERT: read.optionalString("CONTROL_PLANE_TLS_CACERT", {
      effect:
        "File with the authorities of the control plane's certificate, PEM. None of the three set: the control plane is asked without TLS.",
    }),
  };
  refuseSome(read, paths);
  const { CONTROL_PLANE_TLS_CERT: certPath, CONTROL_PLANE_TLS_KEY: keyPath, CONTROL_PLANE_TLS_CACERT: caPath } = paths;
  const tls =
    certPath === undefined || keyPath === undefined || caPath === undefined ? undefined : { certPath, keyPath, caPath };
  return { service, portName, adsService, adsPort, tls };
}

function readPullSecrets(read: EnvReader): readonly string[] {
  const names = read.list("IMAGE_PULL_SECRETS", {
    effect:
      "Secrets with credentials of the registry for the data planes whose RateLimitService names none. They are looked for in the namespace of each.",
  });
  for (const name of names) checkName(read, "IMAGE_PULL_SECRETS", name);
  return [...new Set(names)];
}

function readCertificates(
  read: EnvReader,
  own: ControlPlaneTls | undefined,
): Pick<Settings, "certificates" | "webhook" | "webhookService"> {
  const certificates = read.oneOf("CERTIFICATES", {
    default: "operator",
    choices: ["operator", "external"],
    effect:
      "Who makes the certificates of the control plane, the data planes and the webhook: the operator, or something else that writes the Secrets, such as cert-manager.",
  });
  const webhookService = read.string("WEBHOOK_SERVICE", {
    default: "weir-operator",
    effect: "Service of the admission webhook in OPERATOR_NAMESPACE, for the certificate that the operator makes.",
  });
  checkName(read, "WEBHOOK_SERVICE", webhookService);
  const host = read.host("WEBHOOK_HOST", { effect: "Address of the admission webhook" });
  const port = read.port("WEBHOOK_PORT", { default: 0, effect: "Port of the admission webhook; 0 serves none." });
  const paths = {
    WEBHOOK_TLS_CERT: read.optionalString("WEBHOOK_TLS_CERT", {
      effect:
        "File with the certificate of the admission webhook, PEM; it is waited for. Not set: that of CONTROL_PLANE_TLS_CERT, which has the names of both when the operator makes it.",
    }),
    WEBHOOK_TLS_KEY: read.optionalString("WEBHOOK_TLS_KEY", { effect: "File with the key of that certificate, PEM." }),
  };
  refuseSome(read, paths);
  const { WEBHOOK_TLS_CERT: certPath = own?.certPath, WEBHOOK_TLS_KEY: keyPath = own?.keyPath } = paths;
  if (port === 0) return { certificates, webhookService, webhook: undefined };
  if (certPath === undefined || keyPath === undefined) {
    read.problem("WEBHOOK_TLS_CERT", certPath, "the path of a PEM file, because CONTROL_PLANE_TLS_CERT is not set");
    return { certificates, webhookService, webhook: undefined };
  }
  return { certificates, webhookService, webhook: { host, port, tls: { certPath, keyPath } } };
}

/** Notes a problem with each setting of a group that is missing while another one is there. */
function refuseSome(read: EnvReader, paths: Readonly<Record<string, string | undefined>>): void {
  const names = Object.keys(paths);
  if (names.every((name) => paths[name] === undefined)) return;
  for (const name of names) {
    if (paths[name] === undefined)
      read.problem(
        name,
        undefined,
        `the path of a PEM file, because ${names.filter((each) => each !== name).join(" or ")} is set`,
      );
  }
}

/** Notes a problem with a text that is no name of an object; returns it. */
function checkName<T extends string | undefined>(read: EnvReader, setting: string, name: T): T {
  if (name !== undefined && !OBJECT_NAME.test(name))
    read.problem(setting, name, "at most 63 lower-case letters, digits and hyphens");
  return name;
}

function namespaceIn(file: string): string | undefined {
  try {
    const name = readFileSync(file, "utf8").trim();
    return name === "" ? undefined : name;
  } catch {
    return undefined; // Not in a pod.
  }
}
