// The interface of the decider for transports: they pass a request and a call, and exactly one method
// of the call is called back. The decider itself is in rule-decider.ts.
import { ServiceError } from "@weir/common/errors/service-error";
import type { DecideErrorCode } from "../errors.ts";
import type { Decision } from "./decision.ts";
import type { RateLimitRequest } from "./request.ts";

/** Why a call has no decision; the message may be shown to the caller. */
export class DecideError extends ServiceError<DecideErrorCode> {}

/**
 * One waiting caller. Transports implement it as a class, one instance per call, so that no closure
 * is made. Exactly one of the two methods is called, exactly once, perhaps before `decide` returns.
 */
export interface DecisionCall {
  /** The decision, which now belongs to the call. */
  decided(decision: Decision): void;
  /** There is none; `error.message` may be shown to the caller. */
  failed(error: DecideError): void;
  /**
   * When the caller stops waiting, in milliseconds of `performance.now`; undefined when it did not say.
   */
  readonly deadlineMs: number | undefined;
}

/** Decides requests. It never throws and never keeps a request after the call was answered. */
export interface Decider {
  /** Decides the request and answers the call, now or later. */
  decide(request: RateLimitRequest, call: DecisionCall): void;
}

/**
 * The answer when the counter backend fails: an error, OK without a limit, or OVER_LIMIT with
 * nothing remaining.
 */
export type FailureMode = "error" | "allow" | "deny";

/** The treatment of a call with a field that is not supported. */
export type UnsupportedFieldsMode = "ignore" | "error";

/** Names of the three response headers. */
export interface LimitHeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** Settings of the decider; none changes after start. */
export interface DecideOptions {
  /** SHADOW_MODE: every overall OVER_LIMIT is answered as OK and counted. Default false. */
  readonly shadowMode: boolean;
  /** QUOTA_MODE: every descriptor counts as a quota. Default false. */
  readonly quotaMode: boolean;
  /** USE_CALENDAR_MONTH_RATE_LIMIT: the windows of limits per month are months in UTC, not 30 days. Default false. */
  readonly calendarMonths: boolean;
  /** NEAR_LIMIT_RATIO, 0 to 1: hits above this share of the limit count as near. Default 0.8. */
  readonly nearLimitRatio: number;
  /**
   * LIMIT_RESPONSE_HEADERS_ENABLED with LIMIT_LIMIT_HEADER, LIMIT_REMAINING_HEADER,
   * LIMIT_RESET_HEADER; undefined = off, the default.
   */
  readonly responseHeaders: LimitHeaderNames | undefined;
  /**
   * LIMIT_RULE_HEADER: header with the configured path of the first rule that rejected; undefined =
   * off, the default.
   */
  readonly ruleHeader: string | undefined;
  /** RESPONSE_DYNAMIC_METADATA. Default false. */
  readonly dynamicMetadata: boolean;
  /** CACHE_KEY_PREFIX, put before every counter key. Default "". */
  readonly keyPrefix: string;
  /** MAX_DESCRIPTORS_PER_REQUEST. Default 1000. */
  readonly maxDescriptors: number;
  /** MAX_ENTRIES_PER_DESCRIPTOR. Default 100. */
  readonly maxEntries: number;
  /**
   * STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: when one descriptor of a call is over its limit, or
   * would be, the counters of the others are not incremented. Without effect over a counter that
   * cannot read. Default false.
   */
  readonly stopIncrementsWhenOver: boolean;
  /** BACKEND_FAILURE_MODE. Default "error" for kvstore and memory. */
  readonly failureMode: FailureMode;
  /**
   * UNSUPPORTED_FIELDS: whether a unit_multiplier of more than ten years, and hits to give back to a limit that does
   * not count rejected ones, are ignored or are an error of the request. Default "ignore".
   */
  readonly unsupportedFields: UnsupportedFieldsMode;
}
