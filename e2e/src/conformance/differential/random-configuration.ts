// Random configurations of both services: rule files, and the settings that change decisions.
import { stringify } from "yaml";
import type { Env } from "@weir/harness/processes/programs";
import type { Random } from "@weir/harness/processes/random";
import { drawDomains, type RandomDomain } from "./random-rules.ts";

/** Rules and settings of both services. */
export interface RandomConfiguration {
  readonly domains: readonly RandomDomain[];
  /** Texts of rule files, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** Settings that both read. */
  readonly env: Env;
  /** Every limit is in quota mode. */
  readonly isQuotaMode: boolean;
  /** No call is rejected. */
  readonly isShadowMode: boolean;
  /** Most seconds that are added to the time to live of a counter. */
  readonly jitterMaxSeconds: number;
  /** Name of the header with the seconds until a window ends. */
  readonly resetHeader: string;
  /** Which sink of the statistics is compared. */
  readonly sink: "lines" | "prometheus";
}

/** Default of EXPIRATION_JITTER_MAX_SECONDS. */
const JITTER_DEFAULT_SECONDS = 300;

/** Draws a configuration. */
export function drawConfiguration(random: Random): RandomConfiguration {
  const isShadowMode = random.oneIn(8);
  const isQuotaMode = !isShadowMode && random.oneIn(7);
  const isMerged = random.oneIn(3);
  const hasLocalCache = random.oneIn(2);
  const hasJitter = random.oneIn(2);
  const hasOwnHeaders = random.oneIn(2);
  const hasPrometheus = !hasLocalCache && random.oneIn(2);
  const ratio = random.pick(["", "", "0.5", "0.7", "0.9", "0", "1"]);
  const domains = drawDomains(random, { hasQuota: !isShadowMode, hasUnlimited: !hasPrometheus });
  const env = {
    ...(isShadowMode && { SHADOW_MODE: "true" }),
    ...(isQuotaMode && { QUOTA_MODE: "true" }),
    ...(isMerged && { MERGE_DOMAIN_CONFIG: "true" }),
    ...(hasLocalCache && { LOCAL_CACHE_SIZE_IN_BYTES: "4000000" }),
    ...(random.oneIn(3) && { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true" }),
    ...(ratio !== "" && { NEAR_LIMIT_RATIO: ratio }),
    ...(random.oneIn(3) && { CACHE_KEY_PREFIX: "prefix:" }),
    ...(!hasJitter && { EXPIRATION_JITTER_MAX_SECONDS: "0" }),
    ...(random.oneIn(2) && { LIMIT_RESPONSE_HEADERS_ENABLED: "true" }),
    ...(hasOwnHeaders && { LIMIT_RESET_HEADER: "x-reset", LIMIT_LIMIT_HEADER: "x-limit" }),
    ...(random.oneIn(3) && { RESPONSE_DYNAMIC_METADATA: "true" }),
    ...(!hasPrometheus && random.oneIn(4) && { EXTRA_TAGS: "zone:north,app:shop" }),
    ...(hasPrometheus && { USE_PROMETHEUS: "true" }),
  };
  return {
    domains,
    files: writeFiles(domains, isMerged),
    env,
    isQuotaMode,
    isShadowMode,
    jitterMaxSeconds: hasJitter ? JITTER_DEFAULT_SECONDS : 0,
    resetHeader: hasOwnHeaders ? "x-reset" : "RateLimit-Reset",
    sink: hasPrometheus ? "prometheus" : "lines",
  };
}

/**
 * One file per domain. When domains are merged, rules without a wildcard are in a second file:
 * envoyproxy/ratelimit merges files in random order, and the order of wildcards matters.
 */
function writeFiles(domains: readonly RandomDomain[], isMerged: boolean): Readonly<Record<string, string>> {
  const files = domains.flatMap(({ domain, descriptors }, index): readonly (readonly [string, string])[] => {
    const isFirst = (rule: (typeof descriptors)[number]): boolean =>
      !isMerged || `${rule.key}${rule.value ?? ""}`.includes("*");
    const second = descriptors.filter((rule) => !isFirst(rule));
    const write = (rules: typeof descriptors): string => stringify({ domain, descriptors: rules });
    return [
      [`domain-${index}.yaml`, write(descriptors.filter(isFirst))],
      ...(second.length === 0 ? [] : [[`more-${index}.yaml`, write(second)] as const]),
    ];
  });
  return Object.fromEntries(files);
}
