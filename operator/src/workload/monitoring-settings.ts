// The settings of what Prometheus needs to read the metrics of data planes.
import type { EnvReader } from "@weir/common/settings/read-env";

/** Time between two scrapes as the Prometheus Operator takes it: the largest units first. */
const DURATION = /^(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?$/;

/** A name or a value of a label as Kubernetes takes it, the name with its prefix, and the name of a namespace. */
const LABEL_NAME = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** The settings of the PodMonitors and NetworkPolicies of data planes, unless their resource has its own. */
export interface DataPlaneMonitoring {
  /** Labels by which Prometheus selects PodMonitors; those of a resource come on top. */
  readonly labels: Readonly<Record<string, string>>;
  /** Time between two scrapes, such as `30s`; undefined: Prometheus' default. */
  readonly interval: string | undefined;
  /** Namespaces that may read metrics. */
  readonly namespaces: readonly string[];
}

/** Reads them. */
export function readMonitoring(read: EnvReader): DataPlaneMonitoring {
  const labels = read.map("POD_MONITOR_LABELS", {
    separator: "=",
    effect:
      "Labels by which Prometheus selects the PodMonitors of data planes; those of a RateLimitService come on top.",
  });
  for (const [name, value] of labels)
    if (!LABEL_NAME.test(name) || !LABEL_VALUE.test(value))
      read.problem("POD_MONITOR_LABELS", `${name}=${value}`, "names and values of labels, such as release=prometheus");
  const interval = read.optionalString("POD_MONITOR_INTERVAL", {
    effect:
      "Time between two scrapes of data planes whose RateLimitService says none, such as 30s; not set, Prometheus' default.",
  });
  if (interval !== undefined && !DURATION.test(interval))
    read.problem("POD_MONITOR_INTERVAL", interval, "a number and a unit, such as 30s or 1m");
  const namespaces = read.list("MONITORING_NAMESPACES", {
    effect:
      "Namespaces that the NetworkPolicies of data planes let read metrics, unless their RateLimitService says which.",
  });
  for (const name of namespaces)
    if (!NAMESPACE.test(name)) read.problem("MONITORING_NAMESPACES", name, "names of namespaces");
  return { labels: Object.fromEntries(labels), interval, namespaces };
}
