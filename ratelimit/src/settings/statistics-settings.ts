// Settings of statistics.
import { parseHostPort } from "@weir/common/net/host-port";
import { everyHost } from "@weir/common/settings/listen-hosts";
import type { EnvReader } from "@weir/common/settings/read-env";

import { type PushSettings, readPushSettings } from "./push-settings.ts";
import type { HostPort } from "./server-settings.ts";

/** The pull endpoint. */
export interface PullSettings extends HostPort {
  /** PULLSTATS_PATH; default /metrics. */
  readonly path: string;
  /** PULLSTATS_MAPPER_YAML: a mapping file; undefined = the default mapping. */
  readonly mappingPath: string | undefined;
  /** PULLSTATS_RESPONSE_TIME_AS_MILLISECONDS: response times stay milliseconds; default false. */
  readonly responseTimeAsMilliseconds: boolean;
}

export interface StatisticsSettings {
  /** STATS_MAX_DYNAMIC_KEYS; default 100000. */
  readonly maxDynamicKeys: number;
  /** EXTRA_TAGS: tags of every statistic. */
  readonly extraTags: ReadonlyMap<string, string>;
  /** USE_PULLSTATS; undefined = off, the default. */
  readonly pull: PullSettings | undefined;
  /** Pushed statistics; DISABLE_STATS turns them and the pull endpoint off. */
  readonly push: PushSettings;
  /** True if statistics are written to standard output: when nothing else is on. */
  readonly isOutput: boolean;
}

/** Reads the settings. */
export function readStatisticsSettings(read: EnvReader): StatisticsSettings {
  const maxDynamicKeys = read.integer("STATS_MAX_DYNAMIC_KEYS", {
    default: 100_000,
    min: 0,
    effect: "Most statistics keys made from request values; further hits count under their rule.",
  });
  const extraTags = read.map("EXTRA_TAGS", { effect: "Tags of every statistic." });
  const isDisabled = read.boolean("DISABLE_STATS", {
    default: false,
    effect: "Turns pushed statistics and the scrape endpoint off; /stats stays.",
  });
  const push = readPushSettings(read);
  const isEnabled = read.boolean(["USE_PULLSTATS", "USE_PROMETHEUS"], {
    default: false,
    effect: "Serves statistics for scraping.",
  });
  const pull = readPull(read);
  const isPushed = push.statsd !== undefined || push.tagged !== undefined;
  return {
    maxDynamicKeys,
    extraTags,
    pull: isEnabled && !isDisabled ? pull : undefined,
    push: isDisabled ? { ...push, statsd: undefined, tagged: undefined } : push,
    isOutput: !isPushed && !isEnabled && !isDisabled,
  };
}

function readPull(read: EnvReader): PullSettings {
  const address = read.string(["PULLSTATS_ADDR", "PROMETHEUS_ADDR"], {
    default: ":9090",
    effect: "Address of the scrape endpoint, host:port or :port.",
  });
  const path = read.string(["PULLSTATS_PATH", "PROMETHEUS_PATH"], {
    default: "/metrics",
    effect: "Path of the scrape endpoint.",
  });
  if (!path.startsWith("/")) read.problem("PULLSTATS_PATH", path, "a path that begins with /");
  return {
    ...readAddress(read, "PULLSTATS_ADDR", address),
    path,
    mappingPath: read.optionalString(["PULLSTATS_MAPPER_YAML", "PROMETHEUS_MAPPER_YAML"], {
      effect: "File that maps statistics to metrics, in the format of statsd_exporter; replaces the default mapping.",
    }),
    responseTimeAsMilliseconds: read.boolean(
      ["PULLSTATS_RESPONSE_TIME_AS_MILLISECONDS", "PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS"],
      {
        default: false,
        effect: "Serves response times in milliseconds under the same name; default mapping only.",
      },
    ),
  };
}

/** `host:port`, `[::1]:port` or `:port`, which listens at every address. */
function readAddress(read: EnvReader, name: string, text: string): HostPort {
  const { host = everyHost(), port } = parseHostPort(text) ?? {};
  if (port === undefined) read.problem(name, text, "host:port or :port, such as 127.0.0.1:9090");
  return { host, port: port ?? 0 };
}
