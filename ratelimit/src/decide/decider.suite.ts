// For tests of the decider: a decider over chosen rules, a counter with prepared replies, and
// a call that keeps its answer.
import { type Log, silentLog } from "@weir/common/log/log";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import type { CountBatch, CountedCheck, Counter } from "../counters/counter.ts";
import type { StoreError } from "../counters/store-error.ts";
import { compileCountedRules, type CountedRules } from "../config/counted-rules.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { TopKeys } from "../observe/top-keys.ts";
import { RULE_STATISTICS } from "../statistics/rule-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import type { DecideError, DecideOptions, DecisionCall } from "./decider.ts";
import type { Decision } from "./decision.ts";
import { createLocalCache } from "./local-cache/local-cache.ts";
import type { RateLimitRequest } from "./request.ts";
import { RuleDecider } from "./rule-decider.ts";

/** Options with every feature off. */
const PLAIN_OPTIONS: DecideOptions = {
  shadowMode: false,
  quotaMode: false,
  calendarMonths: false,
  nearLimitRatio: 0.8,
  responseHeaders: undefined,
  ruleHeader: undefined,
  dynamicMetadata: false,
  keyPrefix: "",
  maxDescriptors: 1000,
  maxEntries: 100,
  stopIncrementsWhenOver: false,
  failureMode: "error",
  unsupportedFields: "ignore",
};

/**
 * A store that returns prepared replies, in order, and records the requests. It checks the rules of
 * CountBatch.
 */
export class ReplyingCounter implements Counter {
  readonly name = "replying counter";
  readonly errorType = "redis_error";
  readonly predicts: boolean = true;
  readonly asked: { readonly key: string; readonly addend: number; readonly windowSeconds: number }[] = [];
  replies: (number | StoreError)[];

  constructor(replies: readonly (number | StoreError)[]) {
    this.replies = [...replies];
  }

  count(batch: CountBatch): void {
    if (batch.checks.length === 0) throw new Error("A batch must have at least one check");
    for (const check of batch.checks) {
      const reply = this.#replyTo(check);
      if (typeof reply !== "number") {
        batch.failed(reply);
        return;
      }
      check.after = reply;
    }
    batch.counted();
  }

  read(batch: CountBatch): void {
    this.count(batch);
  }

  #replyTo(check: CountedCheck): number | StoreError {
    if (!check.key.endsWith(`_${check.windowStartSeconds}`))
      throw new Error(`The key ${check.key} must end in its window start`);
    this.asked.push({ key: check.key, addend: check.addend, windowSeconds: check.windowSeconds });
    const reply = this.replies.shift();
    if (reply === undefined) throw new Error(`No reply is left for ${check.key}`);
    return reply;
  }
}

/** A caller that was answered exactly once. */
export class WaitingCall implements DecisionCall {
  readonly deadlineMs: number | undefined;
  #decision: Decision | undefined;
  #error: DecideError | undefined;
  readonly #answered = Promise.withResolvers<void>();

  constructor(deadlineMs?: number) {
    this.deadlineMs = deadlineMs;
  }

  decided(decision: Decision): void {
    this.#insistOnFirst();
    this.#decision = decision;
    this.#answered.resolve();
  }

  failed(error: DecideError): void {
    this.#insistOnFirst();
    this.#error = error;
    this.#answered.resolve();
  }

  /** Resolves when it is answered. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  get decision(): Decision {
    if (this.#decision === undefined) throw new Error(`No decision: ${this.#error?.message ?? "not answered"}`);
    return this.#decision;
  }

  /** True if it was answered with a decision. */
  get hasDecision(): boolean {
    return this.#decision !== undefined;
  }

  get error(): DecideError {
    if (this.#error === undefined) throw new Error("The call did not fail");
    return this.#error;
  }

  #insistOnFirst(): void {
    if (this.#decision !== undefined || this.#error !== undefined) throw new Error("A call must be answered once");
  }
}

/** The parts of a fixture; everything has a default. */
export interface DeciderFixtureOptions {
  readonly configs?: readonly RateLimitConfigModel[] | undefined;
  readonly counter?: Counter;
  readonly nowSeconds?: number;
  readonly options?: Partial<DecideOptions>;
  readonly maxDynamicKeys?: number;
  /** Size of the local cache; 0, the default, is none. */
  readonly localCacheBytes?: number;
  /** Default: none. */
  readonly topKeys?: (rules: () => CountedRules | undefined) => TopKeys;
  readonly log?: Log;
}

/** A decider with its surroundings. */
export class DeciderFixture {
  nowMs: number;
  rules: CountedRules | undefined;
  readonly store;
  readonly decider: RuleDecider;
  readonly topKeys: TopKeys | undefined;

  constructor({
    configs,
    counter = new ReplyingCounter([]),
    nowSeconds = 1234,
    options = {},
    maxDynamicKeys = 100,
    localCacheBytes = 0,
    topKeys,
    log = silentLog(),
  }: DeciderFixtureOptions) {
    this.nowMs = nowSeconds * 1000;
    this.store = new StatisticsStore({ maxDynamicKeys });
    this.rules = configs === undefined ? undefined : compileCountedRules(configs, this.store);
    const clock = (): number => this.nowMs;
    this.topKeys = topKeys?.(() => this.rules);
    this.decider = new RuleDecider(
      {
        rules: () => this.rules,
        counter,
        statistics: new ServiceStatistics(this.store),
        localCache: createLocalCache(
          { statistics: this.store, monotonicMs: clock, log },
          { sizeBytes: localCacheBytes },
        ),
        topKeys: this.topKeys,
        ...{ clock, monotonicMs: clock },
        log,
      },
      { ...PLAIN_OPTIONS, ...options },
    );
  }

  /** Decides a request and gives the answered call. */
  decide(request: Partial<RateLimitRequest>): WaitingCall {
    const call = new WaitingCall();
    this.decider.decide({ domain: "domain", descriptors: [], hitsAddend: 0, ...request }, call);
    return call;
  }

  /** Every counter that is not zero, by its name without `ratelimit.service.`. */
  counted(): Record<string, number> {
    const found: Record<string, number> = {};
    const note = (name: string, value: number): void => {
      if (value !== 0) found[name.replace("ratelimit.service.", "")] = value;
    };
    this.store
      .walk({
        counter: note,
        rule: (counters) => {
          for (const { name, field } of RULE_STATISTICS) note(`${counters.prefix}.${name}`, counters[field]);
        },
        gauge: () => undefined,
        timer: () => undefined,
      })
      .toArray();
    return found;
  }

  /** Every gauge of the local cache, by its last part. */
  localCacheGauges(): Record<string, number> {
    const found: Record<string, number> = {};
    this.store
      .walk({
        counter: () => undefined,
        rule: () => undefined,
        gauge: (name, value) => {
          if (name.startsWith("ratelimit.localcache.")) found[name.replace("ratelimit.localcache.", "")] = value;
        },
        timer: () => undefined,
      })
      .toArray();
    return found;
  }
}
