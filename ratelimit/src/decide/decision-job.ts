// One call on its way from the matched rules through the counter to its decision: the single object
// that a decision needs beside its descriptors. It is the batch of the counter and, in the end, the
// decision itself.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Log } from "@weir/common/log/log";
import type { CountBatch, Counter } from "../counters/counter.ts";
import type { StoreError } from "../counters/store-error.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import { type Check, type LimitedCheck, NO_RULE, PASSED_QUOTA } from "./check.ts";
import { DecideError } from "./decide-error.ts";
import type { DecideOptions, DecisionCall } from "./decider.ts";
import { type Code, type Decision, type HeaderToAdd, OK, OVER_LIMIT } from "./decision.ts";
import { dynamicMetadata } from "./dynamic-metadata.ts";
import type { FailureLog } from "./failure-log.ts";
import { judge, judgeKnownOver } from "./judge.ts";
import type { LocalCache } from "./local-cache.ts";
import { overallCode, rejectingRule } from "./overall-code.ts";
import type { RejectionLog } from "./rejection-log.ts";
import type { RateLimitRequest } from "./request.ts";
import { headerValueOf, limitHeaders } from "./response-headers.ts";
import { secondsUntilReset } from "./window.ts";
import { withholdAll, withholdBesideOver } from "./withheld-increments.ts";

/** What all jobs of a decider share. */
export interface JobContext {
  readonly counter: Counter;
  readonly statistics: ServiceStatistics;
  readonly clock: () => number;
  readonly log: Log;
  readonly options: DecideOptions;
  /** Keys known to be over their limit; undefined when there is no such cache. */
  readonly localCache: LocalCache | undefined;
  /** Whether counters are read before they are incremented, so that increments can be withheld. */
  readonly withholds: boolean;
  /** Where failures of the counters are told. */
  readonly failures: FailureLog;
  /** Where rejections are told; undefined when nobody listens. */
  readonly rejections: RejectionLog | undefined;
  /** The ratio of the options in single precision. */
  readonly nearLimitRatio: number;
  /**
   * Whether anything but codes has to be answered; false spares most calls a look at four options.
   */
  readonly hasExtras: boolean;
}

/** One call. `run` is called once; the rest is the counter's and the transport's side of it. */
export class DecisionJob implements CountBatch, Decision {
  readonly statuses: Check[];
  /** What has to be counted: without the keys that the local cache knows. */
  readonly checks: readonly LimitedCheck[];
  readonly deadlineMs: number | undefined;
  pending = 0;
  overallCode: Code = OK;
  headers: readonly HeaderToAdd[] | undefined = undefined;
  dynamicMetadata: JsonObject | undefined = undefined;
  readonly #context: JobContext;
  readonly #call: DecisionCall;
  readonly #request: RateLimitRequest;
  /**
   * The time of the call while counting may still be synchronous; then undefined, for the time has
   * moved on.
   */
  #nowSeconds: number | undefined;
  /** "reading" while the counter was asked to read and not to count yet. */
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

  /** Counts what has to be counted and answers the call, at once or when the counter calls back. */
  run(): void {
    for (const check of this.statuses) {
      if (check.kind === "none") continue;
      // Counted before the store is touched, so that hits of failed calls are in it, as in the
      // field.
      const { statistics } = check.match;
      statistics.totalHits += check.hits;
      if (check.kind === "unlimited") statistics.withinLimit += check.hits;
    }
    if (this.checks.length === 0) {
      this.#judgeKnownOver(this.#readClock());
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
        withholdBesideOver(this.checks);
        this.#context.counter.count(this);
        return;
      }
      const { nearLimitRatio, localCache } = this.#context;
      const nowSeconds = this.#readClock();
      for (const check of this.checks) {
        const isOver = judge(check, nearLimitRatio, nowSeconds);
        if (isOver) localCache?.add(check.key, check.windowSeconds, nowSeconds);
      }
      this.#judgeKnownOver(nowSeconds);
      this.#answer();
    } catch (cause) {
      this.fail(cause);
    }
  }

  failed(error: StoreError): void {
    try {
      const { counter, statistics, options, failures, clock } = this.#context;
      if (error.code === "STORE_KEY_INVALID") {
        // The caller's fault, not the store's: whatever the failure mode, it would never pass.
        statistics.callErrors.service_error.add(1);
        this.#state = "answered";
        this.#call.failed(new DecideError("REQUEST_INVALID", error.message, { cause: error }));
        return;
      }
      statistics.callErrors[counter.errorType].add(1);
      statistics.backendFailures[options.failureMode].add(1);
      failures.note(error, clock());
      this.#answerFailure(error);
    } catch (cause) {
      this.fail(cause);
    }
  }

  /**
   * Answers a fault of our own, unless the fault lies in the answer itself: a transport that throws
   * has had its turn.
   */
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
        for (const check of this.checks) deny(check, nowSeconds);
        break;
      }
    }
    // What the local cache knows to be over needs no store.
    this.#judgeKnownOver(this.#readClock());
    this.#answer();
  }

  /** Reads the counters before they are counted, unless the result can make no difference. */
  #readFirst(): void {
    const { counter } = this.#context;
    const isKnownOver = this.statuses.some((check) => check.kind === "limited" && check.decidedBy === "local cache");
    if (isKnownOver) withholdAll(this.checks);
    if (isKnownOver || this.checks.length === 1 || counter.read === undefined) {
      counter.count(this);
      return;
    }
    this.#state = "reading";
    counter.read(this);
  }

  #judgeKnownOver(nowSeconds: number): void {
    if (this.#context.localCache === undefined) return;
    for (const check of this.statuses)
      if (check.kind === "limited" && check.decidedBy === "local cache") judgeKnownOver(check, nowSeconds);
  }

  #answer(): void {
    const { options, statistics, hasExtras, rejections } = this.#context;
    const code = overallCode(this.statuses, options.quotaMode);
    if (code === OVER_LIMIT && rejections !== undefined) this.#tellRejection(rejections);
    if (hasExtras) this.#addExtras(code);
    if (code === OVER_LIMIT && options.shadowMode) statistics.globalShadowMode.add(1);
    else this.overallCode = code;
    this.#state = "answered";
    this.#call.decided(this);
  }

  #readClock(): number {
    return this.#nowSeconds ?? Math.floor(this.#context.clock() / 1000);
  }

  #tellRejection(rejections: RejectionLog): void {
    const { quotaMode, shadowMode } = this.#context.options;
    const rule = rejectingRule(this.statuses, quotaMode);
    if (rule !== undefined) rejections.note(this.#request.domain, rule, this.#readClock(), shadowMode);
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

/** Marks the checks whose keys are known to be over their limit. */
function lookUp(checks: readonly Check[], localCache: LocalCache, nowSeconds: number): void {
  for (const check of checks)
    if (check.kind === "limited" && localCache.has(check.key, nowSeconds)) check.decidedBy = "local cache";
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

/** The status of a check whose count is unknown and that must not pass. */
function deny(check: LimitedCheck, nowSeconds: number): void {
  check.decidedBy = "failure mode";
  check.code = check.match.rule.shadowMode ? OK : OVER_LIMIT;
  check.limitRemaining = 0;
  check.durationUntilResetSeconds = secondsUntilReset(nowSeconds, check.windowSeconds);
}

function callError(error: StoreError): DecideError {
  const code = error.code === "DEADLINE_EXCEEDED" ? "DEADLINE_EXCEEDED" : "STORE_UNAVAILABLE";
  return new DecideError(code, error.message, { cause: error, transient: true });
}
