// The built-in mapping, as the text of a mapping file that users can copy and change. Every pattern
// is anchored at both ends, so that no statistic is added to another.
import type { Mapping } from "./mapping.ts";
import { parseMapping } from "./mapping-file.ts";

/** From milliseconds to seconds. */
const TO_SECONDS = "0.001";

/** The first group of a pattern, in braces because a name follows in the template. */
const FIRST_GROUP = "$".concat("{1}");

/** Counters of rules with their help; most keep their common names, without `_total`. */
const RULE_COUNTERS = [
  {
    statistic: "near_limit",
    metric: "near_limit",
    help: "Hits of a rule above the near-limit ratio and within its limit",
  },
  { statistic: "over_limit", metric: "over_limit", help: "Hits of a rule above its limit" },
  { statistic: "total_hits", metric: "total_hits", help: "Hits of a rule" },
  { statistic: "within_limit", metric: "within_limit", help: "Hits of a rule within its limit" },
  {
    statistic: "shadow_mode",
    metric: "shadow_mode",
    help: "Hits of a rule above its limit that its shadow mode let pass",
  },
  {
    statistic: "over_limit_with_local_cache",
    metric: "over_limit_with_local_cache_total",
    help: "Hits of a rule answered as over its limit from the local cache",
  },
] as const;

/** The gauges of the local cache, whose statistics have names in camel case. */
const LOCAL_CACHE_GAUGES = [
  { statistic: "entryCount", metric: "entries", help: "Keys in the local cache" },
  { statistic: "evacuateCount", metric: "evacuations", help: "Keys that made room for others in the local cache" },
  { statistic: "expiredCount", metric: "expirations", help: "Keys whose time was over in the local cache" },
  {
    statistic: "averageAccessTime",
    metric: "average_access_time",
    help: "Average time of the last access to a key of the local cache",
  },
  { statistic: "hitCount", metric: "hits", help: "Keys that were found in the local cache" },
  { statistic: "missCount", metric: "misses", help: "Keys that were not found in the local cache" },
  { statistic: "lookupCount", metric: "lookups", help: "Keys that were looked for in the local cache" },
  { statistic: "overwriteCount", metric: "overwrites", help: "Keys that were written again to the local cache" },
] as const;

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
  const entries = [...ruleEntries(), ...serviceEntries(isMilliseconds), ...localCacheEntries(), ...otherCounters()];
  return `defaults:\n  match_type: regex\n\nmappings:\n${entries.join("")}`;
}

/** Rules of one level have the label key1, deeper ones also key2; levels below are added up. */
function ruleEntries(): readonly string[] {
  const scope = String.raw`^ratelimit\.service\.rate_limit\.`;
  return [
    ...RULE_COUNTERS.flatMap(({ statistic, metric, help }) => {
      const name = `ratelimit_service_rate_limit_${metric}`;
      return [
        counter(String.raw`${scope}([^.]*)\.([^.]*)\.${statistic}$`, { name, labels: ["domain", "key1"], help }),
        counter(String.raw`${scope}([^.]*)\.([^.]*)\.([^.]*)(?:\..*)?\.${statistic}$`, {
          name,
          labels: ["domain", "key1", "key2"],
          help,
        }),
      ];
    }),
    counter(String.raw`${scope}(.*)\.domain_not_found$`, {
      name: "ratelimit_service_rate_limit_domain_not_found_total",
      labels: ["domain"],
      help: "Descriptors of a domain without configuration",
    }),
  ];
}

function serviceEntries(isMilliseconds: boolean): readonly string[] {
  return [
    counter(String.raw`^ratelimit\.service\.call\.should_rate_limit\.([^.]+)$`, {
      name: "ratelimit_service_should_rate_limit_error",
      labels: ["err_type"],
      help: "Calls that failed, by cause",
    }),
    counter(String.raw`^ratelimit_server\.([^.]+)\.total_requests$`, {
      name: "ratelimit_service_total_requests",
      labels: ["grpc_method"],
      help: "Calls of a gRPC method",
    }),
    entry(String.raw`^ratelimit_server\.([^.]+)\.response_time$`, "observer", {
      name: "ratelimit_service_response_time_seconds",
      labels: ["grpc_method"],
      help: "Time from a call to its answer, by gRPC method",
      more: [...(isMilliseconds ? [] : [`scale: ${TO_SECONDS}`]), "observer_type: histogram"],
    }),
    counter(String.raw`^ratelimit\.service\.config_load_success$`, {
      name: "ratelimit_service_config_load_success",
      help: "Configurations that came into force",
    }),
    counter(String.raw`^ratelimit\.service\.config_load_error$`, {
      name: "ratelimit_service_config_load_error",
      help: "Configurations that were refused",
    }),
    counter(String.raw`^ratelimit\.service\.global_shadow_mode$`, {
      name: "ratelimit_service_global_shadow_mode",
      help: "Calls above a limit that the global shadow mode let pass",
    }),
    counter(String.raw`^ratelimit\.service\.backend_failure\.([^.]+)$`, {
      name: "ratelimit_service_backend_failure_total",
      labels: ["mode"],
      help: "Calls whose counters could not be reached, by what they were answered",
    }),
  ];
}

function localCacheEntries(): readonly string[] {
  return LOCAL_CACHE_GAUGES.map(({ statistic, metric, help }) =>
    entry(String.raw`^ratelimit\.localcache\.${statistic}$`, "gauge", { name: `ratelimit_localcache_${metric}`, help }),
  );
}

/** Other counters get `_total`, and seconds instead of milliseconds. */
function otherCounters(): readonly string[] {
  return [
    counter(String.raw`^(ratelimit\.memcache\.[^.]+)\.__code=([^.]+)$`, {
      name: `${FIRST_GROUP}_total`,
      labelTemplates: { code: "$2" },
    }),
    counter(String.raw`^(ratelimit\.node\.[^.]+)_milliseconds$`, {
      name: `${FIRST_GROUP}_seconds_total`,
      more: [`scale: ${TO_SECONDS}`],
    }),
    // Only names with tags contain an equals sign; they are mapped again without their tags.
    counter("^([^=]+?)(?:[._]total)?$", { name: `${FIRST_GROUP}_total` }),
  ];
}

interface EntryFields {
  readonly name: string;
  /** Labels of the groups, in their order. */
  readonly labels?: readonly string[];
  readonly labelTemplates?: Readonly<Record<string, string>>;
  readonly help?: string;
  /** Further lines. */
  readonly more?: readonly string[];
}

function counter(match: string, fields: EntryFields): string {
  return entry(match, "counter", fields);
}

function entry(
  match: string,
  type: "counter" | "gauge" | "observer",
  { name, labels = [], labelTemplates, help, more = [] }: EntryFields,
): string {
  const templates = labelTemplates ?? Object.fromEntries(labels.map((label, index) => [label, `$${index + 1}`]));
  const labelLines = Object.entries(templates).map(([label, template]) => `  ${label}: ${template}`);
  const lines = [
    `match: ${match.includes("\\") ? `'${match}'` : `"${match}"`}`,
    `match_metric_type: ${type}`,
    `name: ${name}`,
    ...(help === undefined ? [] : [`help: ${help}`]),
    ...(labelLines.length === 0 ? [] : ["labels:", ...labelLines]),
    ...more,
  ];
  return `  - ${lines.join("\n    ")}\n`;
}
