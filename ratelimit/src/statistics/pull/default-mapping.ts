// The built-in mapping: metric names and labels of the specification, with every pattern anchored at both ends, so that no statistic is added to another.
import type { Mapping, MappingEntry, TimerOptions } from "./mapping.ts";

/** Upper bounds of response times in seconds: the field's. */
const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** From milliseconds to seconds. */
const TO_SECONDS = 0.001;

/** How timers are shown that have no entry: sum and count. */
const UNMAPPED_TIMER: TimerOptions = { kind: "summary", scale: 1 };

/** Counters of rules with their help. */
const RULE_HELP = {
  total_hits: "Hits of a rule",
  over_limit: "Hits of a rule above its limit",
  near_limit: "Hits of a rule above the near-limit ratio and within its limit",
  over_limit_with_local_cache: "Hits of a rule answered as over its limit from the local cache",
  within_limit: "Hits of a rule within its limit",
  shadow_mode: "Hits of a rule above its limit that its shadow mode let pass",
} as const;

/** The built-in mapping. With `isMilliseconds` response times keep that unit under the same name, as PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS asks. */
export function createDefaultMapping(options: { readonly isMilliseconds: boolean }): Mapping {
  const rules = Object.entries(RULE_HELP).flatMap(([name, help]) => ruleEntries(name, help));
  const timer: TimerOptions = { kind: "histogram", buckets: DEFAULT_BUCKETS, scale: options.isMilliseconds ? 1 : TO_SECONDS };
  return {
    entries: [
      ...rules,
      entry(
        /^ratelimit\.service\.rate_limit\.(.*)\.domain_not_found$/,
        "ratelimit_service_rate_limit_domain_not_found",
        ["domain"],
        "Descriptors of a domain without configuration",
      ),
      entry(
        /^ratelimit\.service\.call\.should_rate_limit\.([^.]+)$/,
        "ratelimit_service_should_rate_limit_error",
        ["err_type"],
        "Calls that failed, by cause",
      ),
      entry(/^ratelimit_server\.([^.]+)\.total_requests$/, "ratelimit_service_total_requests", ["grpc_method"], "Calls of a gRPC method"),
      {
        pattern: /^ratelimit_server\.([^.]+)\.response_time$/,
        kind: "timer",
        action: {
          kind: "map",
          name: "ratelimit_service_response_time_seconds",
          labels: [["grpc_method", "$1"]],
          help: "Time from a call to its answer, by gRPC method",
          scale: 1,
          timer,
        },
      },
      entry(
        /^ratelimit\.service\.config_load_success$/,
        "ratelimit_service_config_load_success",
        [],
        "Configurations that came into force",
      ),
      entry(/^ratelimit\.service\.config_load_error$/, "ratelimit_service_config_load_error", [], "Configurations that were refused"),
    ],
    unmappedTimer: UNMAPPED_TIMER,
  };
}

/** One level has the label key1, two or more also key2; deeper levels are added up. */
function ruleEntries(name: string, help: string): readonly MappingEntry[] {
  const metric = `ratelimit_service_rate_limit_${name}`;
  return [
    entry(new RegExp(`^ratelimit\\.service\\.rate_limit\\.([^.]*)\\.([^.]*)\\.${name}$`), metric, ["domain", "key1"], help),
    entry(
      new RegExp(`^ratelimit\\.service\\.rate_limit\\.([^.]*)\\.([^.]*)\\.([^.]*)(?:\\..*)?\\.${name}$`),
      metric,
      ["domain", "key1", "key2"],
      help,
    ),
  ];
}

function entry(pattern: RegExp, name: string, labels: readonly string[], help: string): MappingEntry {
  return {
    pattern,
    kind: "counter",
    action: { kind: "map", name, labels: labels.map((label, index) => [label, `$${index + 1}`]), help, scale: 1, timer: UNMAPPED_TIMER },
  };
}
