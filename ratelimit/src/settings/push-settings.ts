// Settings of pushed statistics: to a StatsD server, or to a DogStatsD server with tags.
import type { EnvReader } from "@weir/common/settings/read-env";

import { type Mogrifier, type MogrifierTexts, parseMogrifier } from "../statistics/push/mogrifier.ts";
import type { HostPort } from "./server-settings.ts";

/** Statistics for a StatsD server. */
export interface StatsdSettings extends HostPort {
  /** PUSHSTATS_PROTOCOL; default tcp. */
  readonly protocol: "tcp" | "udp";
}

/** Statistics for a DogStatsD server, always over UDP, to the same host and port. */
export interface TaggedSettings extends HostPort {
  /** In the order of TAGGED_STATS_MOGRIFIERS; none by default. */
  readonly mogrifiers: readonly Mogrifier[];
  /** DD_ENV, DD_SERVICE, DD_VERSION and DD_ENTITY_ID as tags `key:value`. */
  readonly globalTags: readonly string[];
}

/** The servers, and how often statistics are sent. */
export interface PushSettings {
  /** STATS_FLUSH_INTERVAL, in milliseconds; default 10 s. */
  readonly flushIntervalMs: number;
  /** USE_PUSHSTATS, on by default; undefined = off. */
  readonly statsd: StatsdSettings | undefined;
  /** USE_TAGGED_STATS; undefined = off, the default. */
  readonly tagged: TaggedSettings | undefined;
}

/** Tags that clients of DogStatsD read from the environment, by variable. */
const GLOBAL_TAGS = [
  { setting: "DD_ENTITY_ID", tag: "dd.internal.entity_id" },
  { setting: "DD_ENV", tag: "env" },
  { setting: "DD_SERVICE", tag: "service" },
  { setting: "DD_VERSION", tag: "version" },
] as const;

/** Prefixes of the settings of one mogrifier, the primary one first. */
const MOGRIFIER_PREFIXES = [
  "TAGGED_STATS_MOGRIFIERS",
  "TAGGED_STATS_MOGRIFIER",
  "DOG_STATSD_MOGRIFIERS",
  "DOG_STATSD_MOGRIFIER",
] as const;

/** The allowed values of each setting of a mogrifier. */
const ALLOWED: Readonly<Record<keyof MogrifierTexts, string>> = {
  PATTERN: "a regular expression",
  NAME: "the name to send under",
  TAGS: "tags key:value separated by commas",
};

/** Placeholder for the name of a mogrifier in the table of settings. */
const ANY_MOGRIFIER = "<NAME>";

/** Reads the settings. */
export function readPushSettings(read: EnvReader): PushSettings {
  const flushIntervalMs = read.durationMs("STATS_FLUSH_INTERVAL", {
    default: "10s",
    minMs: 1,
    isTimer: true,
    effect: "Time between two flushes of statistics.",
  });
  const isStatsd = read.boolean(["USE_PUSHSTATS", "USE_STATSD"], {
    default: true,
    effect:
      "Sends statistics to a StatsD server; when false and nothing else is on, they are written to standard output.",
  });
  const host = read.string(["PUSHSTATS_HOST", "STATSD_HOST"], {
    default: "localhost",
    effect: "Host of the StatsD or DogStatsD server.",
  });
  const port = read.port(["PUSHSTATS_PORT", "STATSD_PORT"], { default: 8125, effect: "Port of that server." });
  const protocol = read.oneOf<StatsdSettings["protocol"]>(["PUSHSTATS_PROTOCOL", "STATSD_PROTOCOL"], {
    default: "tcp",
    choices: ["tcp", "udp"],
    ignoreCase: true,
    effect: "Protocol to the StatsD server; tagged statistics are always sent over UDP.",
  });
  if (port === 0) read.problem("PUSHSTATS_PORT", "0", "the port of a server, from 1 to 65535");
  const tagged = readTagged(read);
  return {
    flushIntervalMs,
    statsd: isStatsd ? { host, port, protocol } : undefined,
    tagged: tagged && { host, port, ...tagged },
  };
}

function readTagged(read: EnvReader): Pick<TaggedSettings, "mogrifiers" | "globalTags"> | undefined {
  const isEnabled = read.boolean(["USE_TAGGED_STATS", "USE_DOG_STATSD"], {
    default: false,
    effect: "Sends statistics with tags to a DogStatsD server over UDP.",
  });
  const names = read.list(["TAGGED_STATS_MOGRIFIERS", "USE_TAGGED_STATS_MOGRIFIERS", "USE_DOG_STATSD_MOGRIFIERS"], {
    effect: "Names of the mogrifiers, which rewrite tagged statistics; the first that matches is used.",
  });
  // Without any, the three settings are read under a placeholder, for the table of settings.
  const mogrifiers = (names.length > 0 ? names : [ANY_MOGRIFIER]).map((name) => ({
    name,
    texts: readMogrifier(read, name),
  }));
  const parse = ({ name, texts }: (typeof mogrifiers)[number]): Mogrifier | undefined =>
    parseMogrifier(name, texts, (setting, message) => {
      const variable = `${MOGRIFIER_PREFIXES[0]}_${name.toUpperCase()}_${setting}`;
      read.problem(variable, texts[setting], `${ALLOWED[setting]} (${message})`);
    });
  const globalTags = GLOBAL_TAGS.flatMap(({ setting, tag }) => {
    const value = read.optionalString(setting, { effect: `Tag ${tag} of tagged statistics.` });
    return value === undefined ? [] : [`${tag}:${value}`];
  });
  if (!isEnabled) return undefined;
  return {
    globalTags,
    mogrifiers: names.length > 0 ? mogrifiers.map(parse).filter((parsed) => parsed !== undefined) : [],
  };
}

function readMogrifier(read: EnvReader, name: string): MogrifierTexts {
  const text = (setting: keyof MogrifierTexts, effect: string): string | undefined => {
    const [primary, ...aliases] = MOGRIFIER_PREFIXES.map(
      (prefix) => `${prefix}_${name.toUpperCase()}_${setting}` as const,
    );
    return read.optionalString([primary ?? setting, ...aliases], { effect });
  };
  return {
    PATTERN: text("PATTERN", "Regular expression that a mogrifier searches for in names, in Go's syntax."),
    NAME: text("NAME", "New name of a statistic that matches; $1 is the first group."),
    TAGS: text("TAGS", "Tags key:value to add, separated by commas; values may contain groups."),
  };
}
