// The built-in mapping, as the text of a mapping file that users can copy and change. Every pattern
// is anchored at both ends, so that no statistic is added to another.
import type { Mapping } from "./mapping.ts";
import { parseMapping } from "./mapping-file.ts";

/** From milliseconds to seconds. */
const TO_SECONDS = "scale: 0.001";

/** The first group of a pattern, in braces because a name follows in the template. */
const FIRST_GROUP = "$".concat("{1}");

const RULE_SCOPE = String.raw`^ratelimit\.service\.rate_limit\.`;

/** Counters of rules with their help, and their metric where its name differs. */
const RULE_COUNTERS: readonly (readonly [statistic: string, help: string, metric?: string])[] = [
  ["near_limit", "Hits of a rule above the near-limit ratio and within its limit"],
  ["over_limit", "Hits of a rule above its limit"],
  ["total_hits", "Hits of a rule"],
  ["within_limit", "Hits of a rule within its limit"],
  ["shadow_mode", "Hits of a rule above its limit that its shadow mode allowed"],
  [
    "over_limit_with_local_cache",
    "Hits of a rule answered as over its limit from the local cache",
    "over_limit_with_local_cache_total",
  ],
];

/** The gauges of the local cache with their metrics and help. */
const LOCAL_CACHE_GAUGES: readonly (readonly [statistic: string, metric: string, help: string])[] = [
  ["entryCount", "entries", "Keys in the local cache"],
  ["evacuateCount", "evacuations", "Keys evicted from the local cache"],
  ["expiredCount", "expirations", "Keys that expired in the local cache"],
  ["averageAccessTime", "average_access_time", "Average time of the last access to a key of the local cache"],
  ["hitCount", "hits", "Keys found in the local cache"],
  ["missCount", "misses", "Keys not found in the local cache"],
  ["lookupCount", "lookups", "Lookups of keys in the local cache"],
  ["overwriteCount", "overwrites", "Keys overwritten in the local cache"],
];

/**
 * The built-in mapping. With `isMilliseconds` response times keep that unit under the same name, as
 * PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS asks.
 */
export function createDefaultMapping(options: { readonly isMilliseconds: boolean }): Mapping {
  // These patterns mean the same in JavaScript, whose engine is five times as fast as a Go pattern.
  return parseMapping(defaultMappingText(options), "of this program", (source) => ({
    ok: true,
    pattern: new RegExp(source, "u"),
  }));
}

/**
 * The text of the built-in mapping. Durations are in milliseconds here; statsd_exporter converts
 * them to seconds itself and needs no scale.
 */
export function defaultMappingText({ isMilliseconds }: { readonly isMilliseconds: boolean }): string {
  const entries = [
    ...RULE_COUNTERS.flatMap(ruleEntries),
    ...serviceEntries(isMilliseconds),
    ...LOCAL_CACHE_GAUGES.map(([statistic, metric, help]) =>
      entry(String.raw`^ratelimit\.localcache\.${statistic}$`, {
        type: "gauge",
        name: `ratelimit_localcache_${metric}`,
        help,
      }),
    ),
    ...otherCounters(),
  ];
  return `defaults:\n  match_type: regex\n\nmappings:\n${entries.join("")}`;
}

/** Rules of one level have the label key1, deeper ones also key2; levels below are added up. */
function ruleEntries([statistic, help, metric = statistic]: (typeof RULE_COUNTERS)[number]): readonly string[] {
  const name = `ratelimit_service_rate_limit_${metric}`;
  return [
    entry(String.raw`${RULE_SCOPE}([^.]*)\.([^.]*)\.${statistic}$`, { name, labels: ["domain", "key1"], help }),
    entry(String.raw`${RULE_SCOPE}([^.]*)\.([^.]*)\.([^.]*)(?:\..*)?\.${statistic}$`, {
      name,
      labels: ["domain", "key1", "key2"],
      help,
    }),
  ];
}

function serviceEntries(isMilliseconds: boolean): readonly string[] {
  return [
    entry(String.raw`${RULE_SCOPE}(.*)\.domain_not_found$`, {
      name: "ratelimit_service_rate_limit_domain_not_found_total",
      labels: ["domain"],
      help: "Descriptors of a domain without configuration",
    }),
    entry(String.raw`^ratelimit\.service\.call\.should_rate_limit\.([^.]+)$`, {
      name: "ratelimit_service_should_rate_limit_error",
      labels: ["err_type"],
      help: "Calls that failed, by cause",
    }),
    entry(String.raw`^ratelimit_server\.([^.]+)\.total_requests$`, {
      name: "ratelimit_service_total_requests",
      labels: ["grpc_method"],
      help: "Calls of a gRPC method",
    }),
    entry(String.raw`^ratelimit_server\.([^.]+)\.response_time$`, {
      type: "observer",
      name: "ratelimit_service_response_time_seconds",
      labels: ["grpc_method"],
      help: "Time from a call to its answer, by gRPC method",
      more: [...(isMilliseconds ? [] : [TO_SECONDS]), "observer_type: histogram"],
    }),
    ...[
      ["config_load_success", "Configurations that became active"],
      ["config_load_error", "Invalid configurations"],
      ["global_shadow_mode", "Calls above a limit that the global shadow mode allowed"],
    ].map(([statistic = "", help]) =>
      entry(String.raw`^ratelimit\.service\.${statistic}$`, { name: `ratelimit_service_${statistic}`, help }),
    ),
    entry(String.raw`^ratelimit\.service\.backend_failure\.([^.]+)$`, {
      name: "ratelimit_service_backend_failure_total",
      labels: ["mode"],
      help: "Calls whose counter backend failed, by the answer to them",
    }),
  ];
}

/** Other counters get `_total`, and seconds instead of milliseconds. */
function otherCounters(): readonly string[] {
  return [
    entry(String.raw`^(ratelimit\.memcache\.[^.]+)\.__code=([^.]+)$`, {
      name: `${FIRST_GROUP}_total`,
      more: ["labels:", "  code: $2"],
    }),
    entry(String.raw`^(ratelimit\.node\.[^.]+)_milliseconds$`, {
      name: `${FIRST_GROUP}_seconds_total`,
      more: [TO_SECONDS],
    }),
    // Only names with tags contain an equals sign; they are mapped again without their tags.
    entry("^([^=]+?)(?:[._]total)?$", { name: `${FIRST_GROUP}_total` }),
  ];
}

interface EntryFields {
  /** Default counter. */
  readonly type?: "gauge" | "observer";
  readonly name: string;
  readonly help?: string | undefined;
  /** Labels of the groups, in their order. */
  readonly labels?: readonly string[];
  /** Further lines. */
  readonly more?: readonly string[];
}

function entry(match: string, { type, name, help, labels = [], more = [] }: EntryFields): string {
  const lines = [
    `match: ${match.includes("\\") ? `'${match}'` : `"${match}"`}`,
    `match_metric_type: ${type ?? "counter"}`,
    `name: ${name}`,
    ...(help === undefined ? [] : [`help: ${help}`]),
    ...(labels.length === 0 ? [] : ["labels:"]),
    ...labels.map((label, index) => `  ${label}: $${index + 1}`),
    ...more,
  ];
  return `  - ${lines.join("\n    ")}\n`;
}
