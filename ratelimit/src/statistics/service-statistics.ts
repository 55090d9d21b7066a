// The statistics of the service, named as in envoyproxy/ratelimit: call errors, configuration
// loads, shadow mode, served methods. All exist at zero from the start.
import type { StatisticsCounter, StatisticsGauge, StatisticsTimer } from "./statistic.ts";
import type { StatisticsStore } from "./statistics-store.ts";

/** The service's own statistics in a store. */
export class ServiceStatistics {
  /**
   * ratelimit.service.call.should_rate_limit.<err_type>: failed calls, because of the request or the
   * service itself, or because of the store by its kind
   */
  readonly callErrors;
  /** ratelimit.service.backend_failure.<mode>: calls whose counters failed, by the answer to them */
  readonly backendFailures;
  /**
   * ratelimit.service.unsupported_field.<name>: calls with a field of a request that is not supported
   */
  readonly unsupportedFields;
  /** ratelimit.service.global_shadow_mode: calls that SHADOW_MODE let pass */
  readonly globalShadowMode: StatisticsCounter;
  /** ratelimit.service.rejected_calls: calls that were answered with OVER_LIMIT */
  readonly rejectedCalls: StatisticsCounter;
  /** ratelimit.service.config_load_success */
  readonly configLoadSuccess: StatisticsCounter;
  /** ratelimit.service.config_load_error */
  readonly configLoadError: StatisticsCounter;
  /** ratelimit.service.config_rejected: 1 while the last configuration was rejected */
  readonly configRejected: StatisticsGauge;
  readonly #store: StatisticsStore;

  constructor(store: StatisticsStore) {
    const counter = (name: string): StatisticsCounter => store.counter(`ratelimit.service.${name}`);
    const callError = (type: string): StatisticsCounter => counter(`call.should_rate_limit.${type}`);
    this.callErrors = {
      service_error: callError("service_error"),
      redis_error: callError("redis_error"),
      memcache_error: callError("memcache_error"),
      memory_error: callError("memory_error"),
    };
    this.backendFailures = {
      error: counter("backend_failure.error"),
      allow: counter("backend_failure.allow"),
      deny: counter("backend_failure.deny"),
    };
    this.unsupportedFields = {
      is_negative_hits: counter("unsupported_field.is_negative_hits"),
      unit_multiplier: counter("unsupported_field.unit_multiplier"),
    };
    this.globalShadowMode = counter("global_shadow_mode");
    this.rejectedCalls = counter("rejected_calls");
    this.configLoadSuccess = counter("config_load_success");
    this.configLoadError = counter("config_load_error");
    this.configRejected = store.gauge("ratelimit.service.config_rejected", "max");
    this.#store = store;
  }

  /** Counts ratelimit.service.rate_limit.<domain>.domain_not_found, once per descriptor. */
  domainNotFound(domain: string, descriptors: number): void {
    this.#store.dynamicCounter("ratelimit.service.rate_limit", domain, "domain_not_found")?.add(descriptors);
  }

  /**
   * ratelimit_server.<method>.total_requests and .response_time of a served method, e.g.
   * "ShouldRateLimit", at zero; call it when the method is registered.
   */
  method(name: string): { readonly totalRequests: StatisticsCounter; readonly responseTime: StatisticsTimer } {
    return {
      totalRequests: this.#store.counter(`ratelimit_server.${name}.total_requests`),
      responseTime: this.#store.timer(`ratelimit_server.${name}.response_time`),
    };
  }
}

/**
 * Loads of one kind of files: `runtime` for rule files, `certs` for the certificate of the gRPC
 * listener.
 */
export class LoadStatistics {
  /** <scope>.load_attempts */
  readonly attempts: StatisticsCounter;
  /** <scope>.load_failures */
  readonly failures: StatisticsCounter;
  /** <scope>.num_values: loaded files */
  readonly values: StatisticsGauge;

  constructor(store: StatisticsStore, scope: "runtime" | "certs") {
    this.attempts = store.counter(`${scope}.load_attempts`);
    this.failures = store.counter(`${scope}.load_failures`);
    this.values = store.gauge(`${scope}.num_values`);
  }
}

/** The connection to the configuration server, over xDS only. */
export class ConfigServerStatistics {
  /** ratelimit.service.config_server_connected: 1 while the stream of now has had a response */
  readonly connected: StatisticsGauge;
  /** ratelimit.service.config_server_certificate_expired: 1 while attempts fail because the server's has expired */
  readonly certificateExpired: StatisticsGauge;

  constructor(store: StatisticsStore) {
    this.connected = store.gauge("ratelimit.service.config_server_connected");
    this.certificateExpired = store.gauge("ratelimit.service.config_server_certificate_expired");
  }
}
