// The differences that the differential run expects: each turns what Weir answered or counted into
// what this version of envoyproxy/ratelimit does. docs/conformance.md lists them.
import { QUOTA_NAME, UNLIMITED_KEY } from "./random-rules.ts";
import type { RandomConfiguration } from "./random-configuration.ts";

/** The part of an answer in JSON that the differences are about. */
export interface AnswerJson {
  overallCode?: string;
  statuses?: {
    code?: string;
    currentLimit?: { name?: string };
    durationUntilReset?: string;
  }[];
  dynamicMetadata?: Record<string, unknown>;
  [field: string]: unknown;
}

/** Statistics that only Weir has. */
const OWN_STATISTICS =
  /^ratelimit\.service\.(backend_failure|config_rejected|config_server_|rejected_calls|stats_keys_dropped|unsupported_field|rate_limit\..*\.total_negative_hits$)/;

/** Statistics of unlimited rules. */
const UNLIMITED_STATISTICS = new RegExp(`^ratelimit\\.service\\.rate_limit\\..*\\.${UNLIMITED_KEY}([_.].*)?$`);

/** Series of Weir's metrics page without an equal, or of unlimited rules. */
const OTHER_SERIES = new RegExp(
  `^ratelimit_service_(backend_failure|config_rejected|config_server_|rejected_calls|stats_keys_dropped|unsupported_field|response_time|` +
    `rate_limit_domain_not_found|rate_limit_over_limit_with_local_cache|rate_limit_negative_hits|rate_limit_.*_domain_not_found)|="${UNLIMITED_KEY}(_[^"]*)?"`,
);

/**
 * Wildcards of the rules that entries of another key reach, with that key in front of them, as part of
 * the name or the label of a statistic.
 */
const OTHER_KEY = /([."])(?:pa[\w/]*_(pa\*)|k_v_(k_v\*|k_\*))(?=[."]|$)/g;

/** Weir's `answer` as this version of envoyproxy/ratelimit gives it. Changes `answer`. */
export function asOlderAnswer(answer: AnswerJson, configuration: RandomConfiguration): AnswerJson {
  const isQuota = (name: string | undefined): boolean =>
    configuration.isQuotaMode || (name?.startsWith(QUOTA_NAME) ?? false);
  let isOver = false;
  for (const status of answer.statuses ?? []) {
    if (status.code !== "OVER_LIMIT") continue;
    if (isQuota(status.currentLimit?.name)) {
      status.code = "OK";
      delete status.durationUntilReset;
    } else isOver = true;
  }
  if (answer.overallCode === "OVER_LIMIT" && !isOver) answer.overallCode = "OK";
  return answer;
}

/** An answer of envoyproxy/ratelimit without what later versions left out. Changes `answer`. */
export function withoutOlderMetadata(answer: AnswerJson): AnswerJson {
  delete answer.dynamicMetadata?.["quotaModeEnabled"];
  delete answer.dynamicMetadata?.["quotaModeViolations"];
  return answer;
}

/** Adds up what differs only in a key in front of a wildcard. */
export function byRule(statistics: Iterable<readonly [string, number]>): ReadonlyMap<string, number> {
  const totals = new Map<string, number>();
  for (const [name, value] of statistics) {
    const named = name.replaceAll(
      OTHER_KEY,
      (_, start: string, key?: string, composite?: string) => start + (key ?? composite ?? ""),
    );
    totals.set(named, (totals.get(named) ?? 0) + value);
  }
  return totals;
}

/** True when both must have the counter `name` with the same value. */
export function isComparedStatistic(name: string): boolean {
  const isOfService =
    name.startsWith("ratelimit.service.") || name.startsWith("ratelimit_server.ShouldRateLimit.total");
  return isOfService && !OWN_STATISTICS.test(name) && !UNLIMITED_STATISTICS.test(name);
}

/** True when both must have the series `name{labels}` with the same value. */
export function isComparedSeries(series: string): boolean {
  const isOfService = series.startsWith("ratelimit_service_") && !OTHER_SERIES.test(series);
  return isOfService && (!series.includes("grpc_method=") || series.includes('grpc_method="ShouldRateLimit"'));
}
