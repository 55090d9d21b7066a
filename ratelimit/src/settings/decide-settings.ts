// Settings of decisions and of the local cache.
import type { EnvReader } from "@weir/common/settings/read-env";

import type { DecideOptions, LimitHeaderNames } from "../decide/decider.ts";
import { type BackendSettings, readFailureMode } from "./backend-settings.ts";

/** A header name as RFC 9110 allows it. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Settings of the decider and of its local cache. */
export interface DecideSettings extends DecideOptions {
  /**
   * LOCAL_CACHE_SIZE_IN_BYTES: most memory of the local cache of keys over their limit; 0 = no such
   * cache, the default.
   */
  readonly localCacheSizeBytes: number;
}

/** Reads the settings of decisions over counters in the given backend. */
export function readDecideSettings(read: EnvReader, backend: BackendSettings["kind"]): DecideSettings {
  return {
    shadowMode: read.boolean("SHADOW_MODE", {
      default: false,
      effect: "Answers OK to every call, and counts the calls above a limit.",
    }),
    quotaMode: read.boolean("QUOTA_MODE", {
      default: false,
      effect: "Treats every limit as a quota: a call fails only when all are used up.",
    }),
    calendarMonths: read.boolean("USE_CALENDAR_MONTH_RATE_LIMIT", {
      default: false,
      effect:
        "Limits per month count in calendar months, which begin on the 1st at 00:00 UTC; otherwise a month is 30 days. One of several months is not changed.",
    }),
    nearLimitRatio: read.ratio("NEAR_LIMIT_RATIO", {
      default: 0.8,
      effect: "Share of a limit above which hits count as near_limit.",
    }),
    responseHeaders: readHeaderNames(read),
    ruleHeader: readHeaderName(read, "LIMIT_RULE_HEADER", {
      default: "",
      effect: "Name of a response header with the rule that rejected the call; empty sends none.",
    }),
    dynamicMetadata: read.boolean("RESPONSE_DYNAMIC_METADATA", {
      default: false,
      effect: "Adds dynamic metadata to each response.",
    }),
    keyPrefix: read.string("CACHE_KEY_PREFIX", { default: "", effect: "Prefix of every counter key." }),
    maxDescriptors: read.integer("MAX_DESCRIPTORS_PER_REQUEST", {
      default: 1000,
      min: 1,
      effect: "Most descriptors of a request.",
    }),
    maxEntries: read.integer("MAX_ENTRIES_PER_DESCRIPTOR", {
      default: 100,
      min: 1,
      effect: "Most entries of a descriptor.",
    }),
    localCacheSizeBytes: read.sizeBytes(["LOCAL_CACHE_SIZE_IN_BYTES", "LocalCacheSizeInBytes"], {
      default: 0,
      min: 0,
      effect:
        "Most memory for keys that are known to be over their limit, which saves calls of the counter store; 0 is no cache. There is no minimum size.",
    }),
    stopIncrementsWhenOver: read.boolean("STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", {
      default: false,
      effect:
        "When one descriptor of a call is over its limit, the counters of the others are not incremented. Calls with several descriptors then take a second round trip, with a time limit of its own. No effect with altstore.",
    }),
    failureMode: readFailureMode(read, backend),
    unsupportedFields: read.oneOf("UNSUPPORTED_FIELDS", {
      default: "ignore",
      choices: ["ignore", "error"],
      effect:
        "What happens to requests whose limit has a unit_multiplier of more than ten years, and to negative hits for a limit that does not count rejected hits: ignore counts them as if they were absent and warns once a minute; error answers INVALID_ARGUMENT.",
    }),
  };
}

function readHeaderNames(read: EnvReader): LimitHeaderNames | undefined {
  const isEnabled = read.boolean("LIMIT_RESPONSE_HEADERS_ENABLED", {
    default: false,
    effect: "Adds response headers with the limit, the remaining hits and the reset.",
  });
  const limit = readHeaderName(read, "LIMIT_LIMIT_HEADER", {
    default: "RateLimit-Limit",
    effect: "Name of the header with the limit.",
  });
  const remaining = readHeaderName(read, "LIMIT_REMAINING_HEADER", {
    default: "RateLimit-Remaining",
    effect: "Name of the header with the remaining hits.",
  });
  const reset = readHeaderName(read, "LIMIT_RESET_HEADER", {
    default: "RateLimit-Reset",
    effect: "Name of the header with the seconds until the window ends.",
  });
  return isEnabled && limit !== undefined && remaining !== undefined && reset !== undefined
    ? { limit, remaining, reset }
    : undefined;
}

function readHeaderName(
  read: EnvReader,
  name: string,
  described: { readonly default: string; readonly effect: string },
): string | undefined {
  const header = read.string(name, described);
  if (header === "") return undefined;
  if (HEADER_NAME.test(header)) return header;
  read.problem(name, header, "a header name of letters, digits and -");
  return undefined;
}
