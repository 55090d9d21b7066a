// The statistics of the service, named as in envoyproxy/ratelimit: call errors, configuration
// loads, shadow mode, served methods. All exist at zero from the start.
import type { StatisticsCounter, StatisticsGauge, StatisticsStore, StatisticsTimer } from "./statistics-store.ts";

/** Scope of the service's own statistics. */
const SERVICE = "ratelimit.service";

/** <err_type> of a failed call: the request or the service itself, or the store by kind. */
export type CallErrorType = "service_error" | "redis_error" | "memcache_error" | "memory_error";

/** The answer to a call whose counter backend failed. */
export type BackendFailureOutcome = "error" | "allow" | "deny";

/** Requests and durations of one served gRPC method. */
export interface MethodStatistics {
  /** ratelimit_server.<method>.total_requests */
  readonly totalRequests: StatisticsCounter;
  /** ratelimit_server.<method>.response_time */
  readonly responseTime: StatisticsTimer;
}

/** The service's own statistics. */
export interface ServiceStatistics {
  /** ratelimit.service.call.should_rate_limit.<err_type> */
  readonly callErrors: Readonly<Record<CallErrorType, StatisticsCounter>>;
  /** ratelimit.service.backend_failure.<mode> */
  readonly backendFailures: Readonly<Record<BackendFailureOutcome, StatisticsCounter>>;
  /** ratelimit.service.global_shadow_mode: calls that SHADOW_MODE let pass */
  readonly globalShadowMode: StatisticsCounter;
  /** ratelimit.service.config_load_success */
  readonly configLoadSuccess: StatisticsCounter;
  /** ratelimit.service.config_load_error */
  readonly configLoadError: StatisticsCounter;
  /** Counts ratelimit.service.rate_limit.<domain>.domain_not_found, once per descriptor. */
  domainNotFound(domain: string, descriptors: number): void;
  /**
   * Statistics of a served method, e.g. "ShouldRateLimit", at zero; call it when the method is
   * registered.
   */
  method(name: string): MethodStatistics;
}

/** The service's own statistics in the store, all at zero. */
export function createServiceStatistics(store: StatisticsStore): ServiceStatistics {
  const callError = (type: CallErrorType): StatisticsCounter =>
    store.counter(`${SERVICE}.call.should_rate_limit.${type}`);
  const backendFailure = (outcome: BackendFailureOutcome): StatisticsCounter =>
    store.counter(`${SERVICE}.backend_failure.${outcome}`);
  return {
    callErrors: {
      service_error: callError("service_error"),
      redis_error: callError("redis_error"),
      memcache_error: callError("memcache_error"),
      memory_error: callError("memory_error"),
    },
    backendFailures: { error: backendFailure("error"), allow: backendFailure("allow"), deny: backendFailure("deny") },
    globalShadowMode: store.counter(`${SERVICE}.global_shadow_mode`),
    configLoadSuccess: store.counter(`${SERVICE}.config_load_success`),
    configLoadError: store.counter(`${SERVICE}.config_load_error`),
    domainNotFound: (domain, descriptors) =>
      store.dynamicCounter(`${SERVICE}.rate_limit`, domain, "domain_not_found")?.add(descriptors),
    method: (name) => ({
      totalRequests: store.counter(`ratelimit_server.${name}.total_requests`),
      responseTime: store.timer(`ratelimit_server.${name}.response_time`),
    }),
  };
}

/**
 * Loads of one kind of files: `runtime` for rule files, `certs` for the certificate of the gRPC
 * listener.
 */
export interface LoadStatistics {
  /** <scope>.load_attempts */
  readonly attempts: StatisticsCounter;
  /** <scope>.load_failures */
  readonly failures: StatisticsCounter;
  /** <scope>.num_values: loaded files */
  readonly values: StatisticsGauge;
}

/** The statistics of loads in the store, all at zero. */
export function createLoadStatistics(store: StatisticsStore, scope: "runtime" | "certs"): LoadStatistics {
  return {
    attempts: store.counter(`${scope}.load_attempts`),
    failures: store.counter(`${scope}.load_failures`),
    values: store.gauge(`${scope}.num_values`),
  };
}
