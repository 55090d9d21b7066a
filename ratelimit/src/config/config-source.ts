// The interfaces of a configuration source and of its listener. Each source has a folder of its
// own.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { RateLimitConfigModel } from "@weir/limits/model/model";

import type { ConfigError } from "./errors.ts";

/**
 * Receives whole configurations and makes them active. It counts loads; a source logs the result,
 * because it knows the location (file and line, version).
 */
export interface ConfigListener {
  /**
   * Makes the whole set active, or changes nothing and gives the error. Resolves when everything that decides has
   * the set; sets take effect in the order of the calls. A configuration that has not changed since the last set must
   * be the same object, so that its rules are kept. A partial set is valid and lacks resources that follow: it does
   * not count as the first one. Never rejects.
   */
  apply(
    configs: readonly RateLimitConfigModel[],
    options?: { readonly isPartial: boolean },
  ): Promise<ConfigError | undefined>;
  /**
   * The source has no set, because something does not parse or cannot be read. The active set
   * stays.
   */
  reject(error: ConfigError): void;
}

/**
 * Passes configurations to a listener, each time the latest whole set. `start` resolves without
 * waiting for a valid one; external errors are logged, passed to the listener and retried until
 * `stop`.
 */
export interface ConfigSource extends Part {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Passes the current set again even if it has not changed; for SIGHUP. */
  reload(): void;
}
