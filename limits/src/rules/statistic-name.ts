// The names that the hits of rules are reported under.

/** Scope of the counters of rules. */
const RULE_SCOPE = "ratelimit.service.rate_limit";

/**
 * Longest statistics key made by request values, in UTF-16 units: a request may carry megabytes, a
 * statistic name must not. Hits of a longer key count under the path of their rule.
 */
export const DYNAMIC_KEY_MAX_LENGTH = 1024;

/**
 * Characters that separate fields on the statsd wire, and control characters, which would break
 * lines; each becomes an underscore.
 */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE = /[:|\u0000-\u001f\u007f]/g;

/** Looks like an IPv4 address; its dots would count as levels of the name. */
const IPV4 = /(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/g;

/** The beginning of the names of a rule's counters: the scope and its cleaned statistics key. */
export function ruleStatisticName(statisticsKey: string): string {
  return `${RULE_SCOPE}.${cleanNamePart(statisticsKey)}`;
}

/** The text as a part of a statistic name; other dots, slashes, `*` and spaces stay. */
export function cleanNamePart(text: string): string {
  return text.replace(UNSAFE, "_").replace(IPV4, "$1_$2_$3_$4");
}
