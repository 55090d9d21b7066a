// One call from its checks through the counter to its decision. The one object that a decision needs
// in addition to its descriptors: the counter's batch first, in the end the decision itself.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Log } from "@weir/common/log/log";
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { CountBatch, Counter } from "../counters/counter.ts";
import type { StoreError } from "../counters/store-error.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import { type Check, type HitCounts, type LimitedCheck, NO_RULE, PASSED_QUOTA } from "@weir/limits/classify/check";
import { DecideError, type DecideOptions, type DecisionCall } from "./decider.ts";
import { type Code, OK, OVER_LIMIT } from "@weir/limits/classify/status";
import type { Decision, HeaderToAdd } from "./decision.ts";
import { dynamicMetadata } from "./dynamic-metadata.ts";
import { classify, classifyCached, denyUncounted, withholdAll, withholdWhenOver } from "@weir/limits/classify/classify";
import type { TopKeys } from "../observe/top-keys.ts";
import type { LocalCache } from "./local-cache/local-cache.ts";
import { overallCode, rejectingRule } from "@weir/limits/classify/overall-code";
import type { RateLimitRequest } from "./request.ts";
import { headerValueOf, limitHeaders } from "./response-headers.ts";

/** How long the local cache keeps a key of a rule that hits were given back to, in seconds. */
const REFUNDED_CACHE_SECONDS = 1;

/** The dependencies and settings that all jobs of a decider share. */
export interface JobContext {
  readonly counter: Counter;
  readonly statistics: ServiceStatistics;
  readonly clock: () => number;
  readonly log: Log;
  readonly options: DecideOptions;
  /** The cache of keys that are over their limit; undefined when it is off. */
  readonly localCache: LocalCache | undefined;
  /** The keys that count most; undefined when they are off. */
  readonly topKeys: TopKeys | undefined;
  /** True if counters are read before they are incremented, so that increments can be withheld. */
  readonly withholds: boolean;
  /** Logs failures of the counters. */
  readonly failures: RateLimitedLog;
  /** Logs rejections by rule, without values of requests; undefined when debug lines are off. */
  readonly rejections: RateLimitedLog | undefined;
  /** The ratio of the options in single precision. */
  readonly nearLimitRatio: number;
  /** True if answers may have headers or metadata; false spares most calls reading their options. */
  readonly hasExtras: boolean;
}

/** One call. `run` is called once; the counter and the transport call the rest. */
export class DecisionJob implements CountBatch, Decision {
  readonly statuses: Check[];
  /** The checks to count: without the keys that the local cache has. */
  readonly checks: readonly LimitedCheck[];
  readonly deadlineMs: number | undefined;
  pending = 0;
  overallCode: Code = OK;
  headers: readonly HeaderToAdd[] | undefined = undefined;
  dynamicMetadata: JsonObject | undefined = undefined;
  readonly #context: JobContext;
  readonly #call: DecisionCall;
  readonly #request: RateLimitRequest;
  /** The time of the call while counting may still be synchronous, then undefined: time passes. */
  #nowSeconds: number | undefined;
  /** "reading" while the counter reads before it counts. */
  #state: "reading" | "counting" | "answered" = "counting";

  constructor(
    context: JobContext,
    request: RateLimitRequest,
    call: DecisionCall,
    statuses: Check[],
    nowSeconds: number,
  ) {
    this.#nowSeconds = nowSeconds;
    this.#context = context;
    this.#request = request;
    this.#call = call;
    this.statuses = statuses;
    if (context.localCache !== undefined) lookUp(statuses, context.localCache, nowSeconds);
    this.checks = toCount(statuses);
    this.deadlineMs = call.deadlineMs;
  }

  /** Counts the checks and answers the call, immediately or when the counter calls back. */
  run(): void {
    for (const check of this.statuses) {
      if (check.kind === "none") continue;
      // Counted before the store is asked, so that hits of failed calls are included, as in
      // envoyproxy/ratelimit.
      if (check.kind === "limited" && check.hits < 0 && check.addend === 0) continue; // A refund that counts nothing.
      const { attachment, attachments } = check.match;
      if (attachments === undefined) addHits(attachment, check.hits);
      else for (const counts of attachments) addHits(counts, check.hits);
      if (check.kind === "unlimited" && check.hits > 0) attachment.withinLimit += check.hits;
    }
    if (this.checks.length === 0) {
      this.#classifyCached(this.#readClock());
      this.#answer();
      return;
    }
    const { counter, withholds } = this.#context;
    if (withholds) this.#readFirst();
    else counter.count(this);
    this.#nowSeconds = undefined;
  }

  counted(): void {
    try {
      if (this.#state === "reading") {
        this.#state = "counting";
        this.pending = 0;
        withholdWhenOver(this.checks);
        this.#context.counter.count(this);
        return;
      }
      const { nearLimitRatio, localCache, topKeys } = this.#context;
      const nowSeconds = this.#readClock();
      for (const check of this.checks) {
        const isOver = classify(check, nearLimitRatio, nowSeconds);
        if (isOver && topKeys !== undefined) topKeys.over(check, this.statuses, this.#request, nowSeconds);
        if (localCache !== undefined) updateCache(localCache, check, isOver, nowSeconds);
      }
      this.#classifyCached(nowSeconds);
      this.#answer();
    } catch (cause) {
      this.fail(cause);
    }
  }

  failed(error: StoreError): void {
    try {
      const { counter, statistics, options, failures } = this.#context;
      if (error.code === "STORE_KEY_INVALID") {
        // The caller's error, not the store's: whatever the failure mode, it would never pass.
        statistics.callErrors.service_error.add(1);
        this.#state = "answered";
        this.#call.failed(new DecideError("REQUEST_INVALID", error.message, { cause: error }));
        return;
      }
      statistics.callErrors[counter.errorType].add(1);
      statistics.backendFailures[options.failureMode].add(1);
      failures.warn("Calls cannot be counted", { error, answer: options.failureMode });
      this.#answerFailure(error);
    } catch (cause) {
      this.fail(cause);
    }
  }

  /** Answers an internal error, unless the call was answered: a transport that throws gets no second answer. */
  fail(cause: unknown): void {
    this.#context.log.error("Cannot decide a rate limit request", { error: cause, domain: this.#request.domain });
    if (this.#state === "answered") return;
    this.#state = "answered";
    this.#context.statistics.callErrors.service_error.add(1);
    this.#call.failed(new DecideError("INTERNAL", "Cannot decide the request: internal error", { cause }));
  }

  #answerFailure(error: StoreError): void {
    const { options } = this.#context;
    switch (options.failureMode) {
      case "error":
        this.#state = "answered";
        this.#call.failed(callError(error));
        return;
      case "allow":
        this.statuses.forEach((check, index) => {
          if (isToCount(check)) this.statuses[index] = check.match.rule.quotaMode ? PASSED_QUOTA : NO_RULE;
        });
        break;
      case "deny": {
        const nowSeconds = this.#readClock();
        for (const check of this.checks) denyUncounted(check, nowSeconds);
        break;
      }
    }
    // Keys that the local cache has need no store.
    this.#classifyCached(this.#readClock());
    this.#answer();
  }

  /** Reads the counters before they are counted, unless the result makes no difference. */
  #readFirst(): void {
    const { counter } = this.#context;
    const isCached = this.statuses.some((check) => check.kind === "limited" && check.decidedBy === "local cache");
    if (isCached) withholdAll(this.checks);
    if (isCached || this.checks.length === 1) {
      counter.count(this);
      return;
    }
    this.#state = "reading";
    counter.read(this);
  }

  #classifyCached(nowSeconds: number): void {
    const { localCache, topKeys } = this.#context;
    if (localCache === undefined) return;
    for (const check of this.statuses) {
      if (check.kind !== "limited" || check.decidedBy !== "local cache") continue;
      classifyCached(check, nowSeconds);
      if (topKeys !== undefined) topKeys.over(check, this.statuses, this.#request, nowSeconds);
    }
  }

  #answer(): void {
    const { options, statistics, hasExtras, rejections, topKeys } = this.#context;
    if (topKeys !== undefined && --topKeys.untilSample <= 0)
      topKeys.sample(this.statuses, this.#request, this.#readClock());
    const code = overallCode(this.statuses, options.quotaMode);
    if (code === OVER_LIMIT && rejections !== undefined) this.#logRejection(rejections);
    if (hasExtras) this.#addExtras(code);
    if (code === OVER_LIMIT && options.shadowMode) statistics.globalShadowMode.add(1);
    else this.overallCode = code;
    if (this.overallCode === OVER_LIMIT) statistics.rejectedCalls.add(1);
    this.#state = "answered";
    this.#call.decided(this);
  }

  #readClock(): number {
    return this.#nowSeconds ?? Math.floor(this.#context.clock() / 1000);
  }

  #logRejection(rejections: RateLimitedLog): void {
    const { quotaMode, shadowMode } = this.#context.options;
    const rule = rejectingRule(this.statuses, quotaMode)?.path;
    if (rule !== undefined)
      rejections.debug("A rule rejected a call", { domain: this.#request.domain, rule, shadowMode }, rule);
  }

  #addExtras(code: Code): void {
    const { responseHeaders, ruleHeader, dynamicMetadata: hasMetadata, quotaMode, shadowMode } = this.#context.options;
    if (responseHeaders !== undefined) this.headers = limitHeaders(this.statuses, responseHeaders, quotaMode);
    const isRejected = ruleHeader !== undefined && code === OVER_LIMIT && !shadowMode;
    const rejecting = isRejected ? rejectingRule(this.statuses, quotaMode) : undefined;
    const rule = rejecting && headerValueOf(rejecting);
    if (ruleHeader !== undefined && rule !== undefined)
      this.headers = [...(this.headers ?? []), { key: ruleHeader, value: rule }];
    if (hasMetadata) this.dynamicMetadata = dynamicMetadata(this.#request, this.statuses, rule);
  }
}

/** Marks the checks whose keys the local cache has. */
function lookUp(checks: readonly Check[], localCache: LocalCache, nowSeconds: number): void {
  for (const check of checks) {
    if (check.kind !== "limited" || check.hits < 0) continue;
    const secondsLeft = localCache.secondsLeft(check.key, nowSeconds);
    if (secondsLeft === 0) continue;
    check.decidedBy = "local cache";
    check.durationUntilResetSeconds = secondsLeft; // Until one hit passes; of a window `classifyCached` knows better.
  }
}

function addHits(counts: HitCounts, hits: number): void {
  if (hits < 0) counts.totalNegativeHits -= hits;
  else counts.totalHits += hits;
}

/**
 * Keeps a key that is over its limit, and forgets one that hits were given back to. A rule with refunds
 * has its keys kept for a second at most: other pods may give hits back, too.
 */
function updateCache(localCache: LocalCache, check: LimitedCheck, isOver: boolean, nowSeconds: number): void {
  if (isOver) {
    const hasRefunds = check.match.attachment.totalNegativeHits > 0;
    const seconds = check.cacheSeconds(nowSeconds);
    if (seconds > 0) localCache.add(check.key, hasRefunds ? REFUNDED_CACHE_SECONDS : seconds, nowSeconds);
  } else if (check.hits < 0) {
    localCache.delete(check.key);
  }
}

/** The checks to count; the very same array in the usual case that all are. */
function toCount(checks: readonly Check[]): readonly LimitedCheck[] {
  for (const check of checks) {
    if (!isToCount(check)) return checks.filter(isToCount);
  }
  return checks as readonly LimitedCheck[];
}

function isToCount(check: Check): check is LimitedCheck {
  return check.kind === "limited" && check.decidedBy === "count";
}

/** The error for callers; made once for all calls that fail with the same error of the store. */
function callError(error: StoreError): DecideError {
  const known = callErrors.get(error);
  if (known !== undefined) return known;
  const code = error.code === "DEADLINE_EXCEEDED" ? "DEADLINE_EXCEEDED" : "STORE_UNAVAILABLE";
  const made = new DecideError(code, error.message, { cause: error, transient: true });
  callErrors.set(error, made);
  return made;
}

const callErrors = new WeakMap<StoreError, DecideError>();
