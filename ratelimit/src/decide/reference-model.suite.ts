// A reference model of the decider for tests: the rules of counting over plain Maps. It shares no code
// with the decider, forgets nothing, and finds rules by one key only.

/** A rule of the model, found by the key of a descriptor's only entry. */
export interface ReferenceRule {
  readonly unit: "second" | "minute" | "hour" | "day";
  readonly requestsPerUnit: number;
  readonly unlimited: boolean;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly name: string;
  readonly replaces: readonly string[];
}

/** One descriptor: a key, a value, and hits of its own if it has any. */
export interface ReferenceDescriptor {
  readonly key: string;
  readonly value: string;
  readonly hits: number | undefined;
}

/** The settings that the model knows. */
export interface ReferenceSettings {
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly nearLimitRatio: number;
  readonly hasLocalCache: boolean;
  readonly stopsIncrements: boolean;
  readonly failureMode: "error" | "allow" | "deny";
}

/** The answer for one descriptor, and for the call; undefined when the call failed. */
export interface ReferenceAnswer {
  readonly overall: "OK" | "OVER_LIMIT";
  readonly statuses: readonly ReferenceStatus[];
  readonly rejectingRule: string | undefined;
}

export interface ReferenceStatus {
  readonly code: "OK" | "OVER_LIMIT";
  readonly limit: number | undefined;
  readonly remaining: number;
  readonly reset: number | undefined;
}

/** When the store fails within a call. */
export type Failure = "reading" | "counting" | undefined;

const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400 };

/** The state of one descriptor while its call is decided. */
interface Step {
  readonly rule: ReferenceRule;
  readonly path: string;
  readonly key: string;
  readonly hits: number;
  isLocalHit: boolean;
  increment: number;
  current: number;
  after: number;
}

/** A service of one domain. */
export class ReferenceService {
  /** Statistics by name, without `ratelimit.service.`; only what is not zero. */
  readonly statistics = new Map<string, number>();
  /** Increments that were withheld because another counter of the call was over. */
  withheld = 0;
  /** Counts by key: everything that was stored. */
  readonly #stored = new Map<string, number>();
  readonly #localCache = new Map<string, number>();
  readonly #domain: string;
  readonly #rules: ReadonlyMap<string, ReferenceRule>;
  readonly #settings: ReferenceSettings;

  constructor(domain: string, rules: ReadonlyMap<string, ReferenceRule>, settings: ReferenceSettings) {
    this.#domain = domain;
    this.#rules = rules;
    this.#settings = settings;
  }

  /** Decides a call. `failure` says at which step the store fails, if the call comes to it. */
  decide(
    now: number,
    descriptors: readonly ReferenceDescriptor[],
    requestHits: number,
    failure: Failure,
  ): ReferenceAnswer | undefined {
    // Which descriptors have a limit that counts: 1.6.
    const replaced = descriptors.flatMap(({ key }) => this.#rules.get(key)?.replaces ?? []);
    const steps = descriptors.map(({ key, value, hits: own }): Step | "none" | "unlimited" => {
      const rule = this.#rules.get(key);
      if (rule === undefined) return "none";
      const hits = own ?? Math.max(1, requestHits);
      const path = `${this.#domain}.${key}`;
      if (rule.unlimited) {
        this.#add(path, "total_hits", hits);
        this.#add(path, "within_limit", hits);
        return "unlimited";
      }
      if (rule.name !== "" && replaced.includes(rule.name)) return "none";
      this.#add(path, "total_hits", hits);
      const start = Math.floor(now / SECONDS[rule.unit]) * SECONDS[rule.unit];
      const counterKey = `${this.#domain}_${key}_${value}_${start}`;
      return { rule, path, key: counterKey, hits, isLocalHit: false, increment: hits, current: 0, after: 0 };
    });
    const limited = steps.filter((step) => typeof step !== "string");
    const hasFailed = this.#count(limited, now, failure);
    if (hasFailed) {
      this.#addPlain("call.should_rate_limit.memory_error", 1);
      this.#addPlain(`backend_failure.${this.#settings.failureMode}`, 1);
      if (this.#settings.failureMode === "error") return undefined;
    }
    const statuses = steps.map((step): ReferenceStatus => {
      if (step === "none") return { code: "OK", limit: undefined, remaining: 0, reset: undefined };
      if (step === "unlimited") return { code: "OK", limit: undefined, remaining: 4_294_967_295, reset: undefined };
      return this.#classify(step, now, hasFailed);
    });
    return this.#answer(steps, statuses, hasFailed);
  }

  /** The count of a key. */
  stored(key: string): number {
    return this.#stored.get(key) ?? 0;
  }

  /** 2.3, steps 2 to 6. True when the store has failed. */
  #count(steps: readonly Step[], now: number, failure: Failure): boolean {
    if (this.#settings.hasLocalCache)
      for (const step of steps) step.isLocalHit = (this.#localCache.get(step.key) ?? 0) > now;
    const asked = steps.filter(({ isLocalHit }) => !isLocalHit);
    if (asked.length === 0) return false;
    if (this.#settings.stopsIncrements) {
      if (asked.length < steps.length) {
        for (const step of asked) step.increment = 0;
      } else {
        // A single counter need not be read: it is incremented whether it is near or not.
        if (failure === "reading" && asked.length > 1) return true;
        for (const step of asked) step.current = this.stored(step.key);
        const near = asked.filter(({ current, hits, rule }) => current + hits > rule.requestsPerUnit);
        if (near.length > 0) for (const step of asked) step.increment = near.includes(step) ? step.hits : 0;
      }
    }
    this.withheld += asked.filter(({ hits, increment }) => increment < hits).length;
    if (failure === "counting") return true;
    for (const step of asked) {
      step.after = this.stored(step.key) + step.increment;
      this.#stored.set(step.key, step.after);
    }
    return false;
  }

  /** 2.4, and what the failure mode says. */
  #classify({ rule, path, key, hits, after, isLocalHit }: Step, now: number, hasFailed: boolean): ReferenceStatus {
    const limit = rule.requestsPerUnit;
    const near = Math.floor(Math.fround(Math.fround(limit) * Math.fround(this.#settings.nearLimitRatio)));
    const reset = SECONDS[rule.unit] - (now % SECONDS[rule.unit]);
    const over = (overHits: number): ReferenceStatus => {
      if (rule.shadowMode) this.#add(path, "shadow_mode", overHits);
      return { code: rule.shadowMode ? "OK" : "OVER_LIMIT", limit, remaining: 0, reset };
    };
    if (isLocalHit) {
      this.#add(path, "over_limit", hits);
      this.#add(path, "over_limit_with_local_cache", hits);
      return over(hits);
    }
    if (hasFailed && this.#settings.failureMode === "allow")
      return { code: "OK", limit: undefined, remaining: 0, reset: undefined };
    if (hasFailed) return { code: rule.shadowMode ? "OK" : "OVER_LIMIT", limit, remaining: 0, reset };
    const before = after - hits < 0 ? 2 ** 64 + (after - hits) : after - hits;
    if (after > limit) {
      if (this.#settings.hasLocalCache) this.#localCache.set(key, now + SECONDS[rule.unit]);
      if (before >= limit) {
        this.#add(path, "over_limit", hits);
        return over(hits);
      }
      this.#add(path, "over_limit", after - limit);
      this.#add(path, "near_limit", limit - Math.max(near, before));
      return over(after - limit);
    }
    this.#add(path, "within_limit", hits);
    if (after > near) this.#add(path, "near_limit", before >= near ? hits : after - near);
    return { code: "OK", limit, remaining: limit - after, reset };
  }

  /** 4.1 and 4.2, and the rule that a header names. */
  #answer(
    steps: readonly (Step | "none" | "unlimited")[],
    statuses: readonly ReferenceStatus[],
    hasFailed: boolean,
  ): ReferenceAnswer {
    const isQuota = steps.map(
      (step) => step !== "unlimited" && (this.#settings.quotaMode || (step !== "none" && step.rule.quotaMode)),
    );
    const isOver = statuses.map(({ code }) => code === "OVER_LIMIT");
    const failedRate = steps.filter((_, index) => isOver[index] && !isQuota[index]).length;
    const failedQuota = steps.filter((_, index) => isOver[index] && isQuota[index]).length;
    const totalQuota = isQuota.filter(Boolean).length;
    const areQuotasOver = totalQuota > 0 && failedQuota === totalQuota;
    const over = failedRate > 0 || areQuotasOver;
    if (over && this.#settings.shadowMode) this.#addPlain("global_shadow_mode", 1);
    const isRejected = over && !this.#settings.shadowMode;
    if (isRejected) this.#addPlain("rejected_calls", 1);
    // If the store has failed, no rule rejects but those that the local cache knows to be over.
    const rejecting = steps.find((step, index) => {
      const isDecided = typeof step === "object" && (!hasFailed || step.isLocalHit);
      return isDecided && isOver[index] && (areQuotasOver || !isQuota[index]);
    });
    return {
      overall: isRejected ? "OVER_LIMIT" : "OK",
      statuses,
      rejectingRule: isRejected && typeof rejecting === "object" ? rejecting.path : undefined,
    };
  }

  #add(path: string, name: string, value: number): void {
    this.#addPlain(`rate_limit.${path}.${name}`, value);
  }

  #addPlain(name: string, value: number): void {
    if (value !== 0) this.statistics.set(name, (this.statistics.get(name) ?? 0) + value);
  }
}
