// What transports know of the decider: they hand over a request and a call, and exactly one method of the call is called back. From here a call goes
// through the rules to its checks; counting and answering are in decision-job.ts.
import type { Log } from "@weir/common/log/log";
import type { Counter } from "../counters/counter.ts";
import type { DomainRules, RuleMatch, RuleSet } from "../rules/rule-set.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import { hitsAddend } from "./addend.ts";
import { type Check, LimitedCheck, NO_RULE, UnlimitedCheck } from "./check.ts";
import { counterKey } from "./counter-key.ts";
import { DecideError } from "./decide-error.ts";
import { DecisionJob, type JobContext } from "./decision-job.ts";
import type { Decision } from "./decision.ts";
import { dropReplaced } from "./replaces.ts";
import type { RateLimitRequest, RequestDescriptor } from "./request.ts";
import { windowStartSeconds } from "./window.ts";

/**
 * One waiting caller. Transports implement it as a class, one instance per call, so that no closure is made. Exactly one of the two methods is
 * called, exactly once, perhaps before `decide` returns.
 */
export interface DecisionCall {
  /** The decision, which now belongs to the call. */
  decided(decision: Decision): void;
  /** There is none; `error.message` may be shown to the caller. */
  failed(error: DecideError): void;
  /** When the caller stops waiting, in milliseconds since the epoch; undefined when it did not say. */
  readonly deadlineMs: number | undefined;
}

/** Decides requests. It never throws and never keeps a request after the call was answered. */
export interface Decider {
  decide(request: RateLimitRequest, call: DecisionCall): void;
}

/** What is answered when the counter backend fails: an error, OK without a limit, or OVER_LIMIT with nothing remaining. */
export type FailureMode = "error" | "allow" | "deny";

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
  /** QUOTA_MODE: every descriptor is judged as a quota. Default false. */
  readonly quotaMode: boolean;
  /** NEAR_LIMIT_RATIO, 0 to 1: hits above this share of the limit count as near. Default 0.8. */
  readonly nearLimitRatio: number;
  /** LIMIT_RESPONSE_HEADERS_ENABLED with LIMIT_LIMIT_HEADER, LIMIT_REMAINING_HEADER, LIMIT_RESET_HEADER; undefined = off, the default. */
  readonly responseHeaders: LimitHeaderNames | undefined;
  /** LIMIT_RULE_HEADER: header with the configured path of the first rule that rejected; undefined = off, the default. */
  readonly ruleHeader: string | undefined;
  /** RESPONSE_DYNAMIC_METADATA. Default false. */
  readonly dynamicMetadata: boolean;
  /** CACHE_KEY_PREFIX, put before every counter key. Default "". */
  readonly keyPrefix: string;
  /** MAX_DESCRIPTORS_PER_REQUEST. Default 1000. */
  readonly maxDescriptors: number;
  /** MAX_ENTRIES_PER_DESCRIPTOR. Default 100. */
  readonly maxEntries: number;
  /** BACKEND_FAILURE_MODE. Default "error" for kvstore and memory. */
  readonly failureMode: FailureMode;
}

/** What the decider works with. `clock` gives milliseconds since the epoch; `rules` the set in force, undefined before the first load. */
export interface DeciderDeps {
  readonly rules: () => RuleSet | undefined;
  readonly counter: Counter;
  readonly statistics: ServiceStatistics;
  readonly clock: () => number;
  readonly log: Log;
}

/** Creates the decider. */
export function createDecider(deps: DeciderDeps, options: DecideOptions): Decider {
  const context: JobContext = {
    ...deps,
    options,
    nearLimitRatio: Math.fround(options.nearLimitRatio),
    hasExtras: options.responseHeaders !== undefined || options.ruleHeader !== undefined || options.dynamicMetadata,
  };
  return new RuleDecider(deps.rules, context);
}

class RuleDecider implements Decider {
  readonly #rules: () => RuleSet | undefined;
  readonly #context: JobContext;

  constructor(rules: () => RuleSet | undefined, context: JobContext) {
    this.#rules = rules;
    this.#context = context;
  }

  decide(request: RateLimitRequest, call: DecisionCall): void {
    // One look at the rules per call: a reload never splits a call.
    const rules = this.#rules();
    const error = findRequestError(request, rules, this.#context.options);
    if (error !== undefined) {
      this.#context.statistics.callErrors.service_error.add(1);
      call.failed(error);
      return;
    }
    let job: DecisionJob | undefined;
    try {
      const checks = this.#toChecks(request, rules?.domain(request.domain));
      if (checks instanceof DecideError) {
        this.#context.statistics.callErrors.service_error.add(1);
        call.failed(checks);
        return;
      }
      job = new DecisionJob(this.#context, request, call, checks);
      job.run();
    } catch (cause) {
      (job ?? new DecisionJob(this.#context, request, call, [])).fail(cause);
    }
  }

  /** One check per descriptor, replaced rules already out; or what is wrong with an override. */
  #toChecks(request: RateLimitRequest, rules: DomainRules | undefined): Check[] | DecideError {
    const { descriptors } = request;
    if (rules === undefined) {
      this.#context.statistics.domainNotFound(request.domain, descriptors.length);
      return descriptors.map(() => NO_RULE);
    }
    const { clock, options } = this.#context;
    const nowSeconds = Math.floor(clock() / 1000);
    const scope = `${options.keyPrefix}${request.domain}_`;
    const checks: Check[] = [];
    let replacing: RuleMatch[] | undefined;
    for (const descriptor of descriptors) {
      const { limit } = descriptor;
      const match = limit === undefined ? rules.match(descriptor.entries) : rules.override(descriptor.entries, limit);
      if (match === undefined) {
        if (limit !== undefined) return unitError(limit.unit);
        checks.push(NO_RULE);
        continue;
      }
      if (match.rule.replaces.length > 0) (replacing ??= []).push(match);
      checks.push(toCheck(request, descriptor, match, scope, nowSeconds));
    }
    if (replacing !== undefined) dropReplaced(checks, replacing);
    return checks;
  }
}

function toCheck(request: RateLimitRequest, descriptor: RequestDescriptor, match: RuleMatch, scope: string, nowSeconds: number): Check {
  const addend = hitsAddend(request, descriptor);
  if (match.rule.unlimited) return new UnlimitedCheck(match, addend);
  const windowStart = windowStartSeconds(nowSeconds, match.rule.windowSeconds);
  return new LimitedCheck(match, counterKey(scope, descriptor.entries, match.sharedValues, windowStart), windowStart, addend);
}

/** What makes a request undecidable, in the order the field checks it. */
function findRequestError(request: RateLimitRequest, rules: RuleSet | undefined, options: DecideOptions): DecideError | undefined {
  const { domain, descriptors } = request;
  if (domain === "") return new DecideError("REQUEST_INVALID", "rate limit domain must not be empty");
  if (descriptors.length === 0) return new DecideError("REQUEST_INVALID", "rate limit descriptor list must not be empty");
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
  return rules === undefined ? new DecideError("NO_CONFIG", "no rate limit configuration loaded", { transient: true }) : undefined;
}

function unitError(unit: number): DecideError {
  return new DecideError("REQUEST_INVALID", `invalid rate limit unit '${unit === 0 ? "UNKNOWN" : unit}'`);
}
