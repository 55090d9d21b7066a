// The decider over the active rules: matches the descriptors of a call and makes their checks.
// decision-job.ts counts and answers them.
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { Check, CountedMatch, HitCounts } from "@weir/limits/classify/check";
import { CellCheck } from "@weir/limits/classify/cell-check";
import { CalendarCheck, LimitedCheck, NO_RULE, UnlimitedCheck } from "@weir/limits/classify/check";
import { dropReplaced } from "@weir/limits/classify/replaced";
import { UNIT_NUMBERS, unitOfNumber } from "@weir/limits/model/unit";
import type { DomainRules } from "@weir/limits/rules/domain-rules";
import type { Entry, Rule } from "@weir/limits/rules/rule";
import { CalendarWindows, UTC_MONTHS } from "@weir/limits/window/calendar";
import { CounterKeys } from "@weir/limits/rules/counter-key";
import { windowStartSeconds } from "@weir/limits/window/window";
import type { CountedRules } from "../config/counted-rules.ts";
import type { Counter } from "../counters/counter.ts";
import type { CountersQuestion, DescriptorCounts } from "../observe/counters-reading.ts";
import type { TopKeys } from "../observe/top-keys.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import { ATTACH_NOTHING, readChecks } from "./counts-read.ts";
import { DecideError, type DecideOptions, type Decider, type DecisionCall } from "./decider.ts";
import { DecisionJob, type JobContext } from "./decision-job.ts";
import type { LocalCache } from "./local-cache/local-cache.ts";
import { hitsOf, type RateLimitRequest } from "./request.ts";
import { UnsupportedFields } from "./unsupported-fields.ts";

/** Shortest time between two log lines about failures, and about rejections by one rule, in milliseconds. */
const FAILURE_INTERVAL_MS = 10_000;
const REJECTION_INTERVAL_MS = 1000;

/**
 * The dependencies of the decider. `clock` returns milliseconds since the epoch, `monotonicMs` those of a
 * clock that only goes forward; `rules` the active set, undefined before the first load.
 */
export interface DeciderDeps {
  readonly rules: () => CountedRules | undefined;
  readonly counter: Counter;
  readonly statistics: ServiceStatistics;
  /** The cache of keys that are over their limit; undefined when it is off. */
  readonly localCache: LocalCache | undefined;
  /** The keys that count most; undefined when they are off. */
  readonly topKeys: TopKeys | undefined;
  readonly clock: () => number;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Decides requests over the active rules. */
export class RuleDecider implements Decider {
  readonly #rules: () => CountedRules | undefined;
  readonly #context: JobContext;
  readonly #keys: CounterKeys;
  readonly #unsupported: UnsupportedFields;
  /** Undefined while months have 30 days. */
  readonly #months: CalendarWindows | undefined;

  constructor(deps: DeciderDeps, options: DecideOptions) {
    const { counter, monotonicMs: clock, log } = deps;
    this.#rules = deps.rules;
    this.#keys = new CounterKeys(options.keyPrefix);
    this.#unsupported = new UnsupportedFields(deps, options.unsupportedFields);
    this.#months = options.calendarMonths ? new CalendarWindows(UTC_MONTHS) : undefined;
    this.#context = {
      ...deps,
      options,
      withholds: options.stopIncrementsWhenOver && counter.predicts !== true,
      failures: new RateLimitedLog(log, { intervalMs: FAILURE_INTERVAL_MS, monotonicMs: clock }),
      rejections: log.isEnabled("debug")
        ? new RateLimitedLog(log, { intervalMs: REJECTION_INTERVAL_MS, monotonicMs: clock })
        : undefined,
      nearLimitRatio: Math.fround(options.nearLimitRatio),
      hasExtras: options.responseHeaders !== undefined || options.ruleHeader !== undefined || options.dynamicMetadata,
    };
  }

  decide(request: RateLimitRequest, call: DecisionCall): void {
    // The rules are read once per call: a reload never splits a call.
    const rules = this.#rules();
    const error = findRequestError(request, rules, this.#context.options) ?? this.#unsupported.check(request);
    if (error !== undefined) {
      this.#reject(call, error);
      return;
    }
    const nowMs = this.#context.clock();
    const nowSeconds = Math.floor(nowMs / 1000);
    let job: DecisionJob | undefined;
    try {
      const checks = this.#toChecks(request, rules?.domain(request.domain), nowMs);
      if (checks instanceof DecideError) {
        this.#reject(call, checks);
        return;
      }
      job = new DecisionJob(this.#context, request, call, checks, nowSeconds);
      job.run();
    } catch (cause) {
      (job ?? new DecisionJob(this.#context, request, call, [], nowSeconds)).fail(cause);
    }
  }

  /**
   * Reads what the descriptors of a request have counted: by the same rules and keys as `decide`, in the store and not in
   * the local cache. Fails with DecideError or StoreError.
   */
  async readCounts({ domain, descriptors, deadlineMs }: CountersQuestion): Promise<readonly DescriptorCounts[]> {
    const { counter, clock, options } = this.#context;
    const rules = this.#rules();
    const request = { domain, descriptors: descriptors.map((entries) => ({ entries })), hitsAddend: 0 };
    const error = findRequestError(request, rules, options);
    if (error !== undefined) throw error;
    const ofDomain = rules?.domain(domain);
    if (ofDomain === undefined) throw new DecideError("REQUEST_INVALID", `no rules for the domain ${domain}`);
    const nowMs = clock();
    const matches = descriptors.map((entries) => ofDomain.matchForRead(entries, ATTACH_NOTHING));
    const checks = descriptors.map((entries, index): Check => {
      const match = matches[index];
      return match === undefined ? NO_RULE : this.#toCheck(ofDomain, match, entries, 0, nowMs);
    });
    dropReplaced(
      checks,
      matches.filter((match) => match !== undefined),
    );
    await readChecks(counter, checks, deadlineMs);
    const nowSeconds = Math.floor(nowMs / 1000);
    return checks.map((check, index) => ({
      path: matches[index]?.rule.path,
      limits: check.kind === "limited" ? check.counts(nowSeconds) : [],
    }));
  }

  #reject(call: DecisionCall, error: DecideError): void {
    this.#context.statistics.callErrors.service_error.add(1);
    try {
      call.failed(error);
    } catch (cause) {
      this.#context.log.error("Cannot deliver the rejection of a rate limit request", { error: cause });
    }
  }

  /** One check per descriptor, without replaced rules; an error when the unit of an override is unknown. */
  #toChecks(
    request: RateLimitRequest,
    rules: DomainRules<HitCounts> | undefined,
    nowMs: number,
  ): Check[] | DecideError {
    const { descriptors } = request;
    // Of the right length from the start: an array that grows from nothing allocates seventeen.
    const checks = new Array<Check>(descriptors.length);
    let replacing: CountedMatch[] | undefined;
    for (let index = 0; index < descriptors.length; index++) {
      checks[index] = NO_RULE;
      const descriptor = descriptors[index];
      if (rules === undefined || descriptor === undefined) continue;
      const { limit, entries } = descriptor;
      const match = limit === undefined ? rules.match(entries) : rules.override(entries, limit);
      if (match !== undefined) {
        if (match.rule.replaces.length > 0) (replacing ??= []).push(match);
        const hits = hitsOf(request, descriptor);
        const error = this.#unsupported.checkRefund(match.rule, hits, request.domain);
        if (error !== undefined) return error;
        const check = this.#toCheck(rules, match, entries, hits, nowMs);
        if (hits < 0 && this.#context.counter.givesBack === false && check.kind === "limited") check.addend = 0;
        checks[index] = check;
      } else if (limit !== undefined) {
        return unitError(request);
      }
    }
    if (rules === undefined) this.#context.statistics.domainNotFound(request.domain, descriptors.length);
    if (replacing !== undefined) dropReplaced(checks, replacing);
    return checks;
  }

  #toCheck(
    rules: DomainRules<HitCounts>,
    match: CountedMatch,
    entries: readonly Entry[],
    hits: number,
    nowMs: number,
  ): Check {
    const { rule } = match;
    if (rule.unlimited) return new UnlimitedCheck(match, hits);
    if (rule.cell !== undefined) {
      const key = this.#keys.key(rules, match, entries, 0);
      return new CellCheck(match, rule.cell, key, nowMs, hits);
    }
    const nowSeconds = Math.floor(nowMs / 1000);
    const calendar = rule.calendar ?? this.#monthsOf(rule);
    if (calendar !== undefined) {
      const window = calendar.at(nowSeconds);
      const key = this.#keys.key(rules, match, entries, window.startSeconds);
      return new CalendarCheck(match, key, window, calendar.maxSeconds, hits);
    }
    const startSeconds = windowStartSeconds(nowSeconds, rule.windowSeconds);
    return new LimitedCheck(match, this.#keys.key(rules, match, entries, startSeconds), startSeconds, hits);
  }

  /** The calendar of a limit per month that does not name one. */
  #monthsOf({ limit }: Rule): CalendarWindows | undefined {
    if (this.#months === undefined) return undefined;
    return limit.unit === UNIT_NUMBERS.MONTH && limit.unitMultiplier === undefined ? this.#months : undefined;
  }
}

/** Checks a request in the order of envoyproxy/ratelimit. */
function findRequestError(
  request: RateLimitRequest,
  rules: CountedRules | undefined,
  options: DecideOptions,
): DecideError | undefined {
  const { domain, descriptors } = request;
  if (domain === "") return new DecideError("REQUEST_INVALID", "rate limit domain must not be empty");
  if (descriptors.length === 0)
    return new DecideError("REQUEST_INVALID", "rate limit descriptor list must not be empty");
  if (descriptors.length > options.maxDescriptors) {
    const message = `rate limit descriptor list must not be longer than ${options.maxDescriptors}, it has ${descriptors.length}`;
    return new DecideError("REQUEST_INVALID", message);
  }
  for (const { entries } of descriptors) {
    if (entries.length > options.maxEntries) {
      const message = `rate limit descriptor must not have more than ${options.maxEntries} entries, one has ${entries.length}`;
      return new DecideError("REQUEST_INVALID", message);
    }
  }
  return rules === undefined
    ? new DecideError("NO_CONFIG", "no rate limit configuration loaded", { transient: true })
    : undefined;
}

/** The error of the first override whose unit is not one of 1 to 7. */
function unitError({ descriptors }: RateLimitRequest): DecideError {
  const unit =
    descriptors.find(({ limit }) => limit !== undefined && unitOfNumber(limit.unit) === undefined)?.limit?.unit ?? 0;
  return new DecideError("REQUEST_INVALID", `invalid rate limit unit '${unit === 0 ? "UNKNOWN" : unit}'`);
}
