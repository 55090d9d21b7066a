// Where configurations come from, and who takes them. Each source has a folder of its own;
// config-source.suite.ts says in tests what they all must do.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { RateLimitConfigModel } from "@weir/limits/model/model";

import type { ConfigError } from "./errors.ts";

/**
 * Takes whole configurations and puts them in force. It counts loads; a source logs what happened,
 * because it knows the place (file and line, version).
 */
export interface ConfigListener {
  /** Puts the whole set in force, or leaves everything as it is and says why. */
  apply(configs: readonly RateLimitConfigModel[]): ConfigError | undefined;
  /**
   * The source has no set to offer: something does not parse, or cannot be read. What is in force
   * stays.
   */
  reject(error: ConfigError): void;
}

/**
 * Brings configurations to a listener, the latest whole set each time, one after the other. `start`
 * resolves without waiting for a good one; whatever is wrong outside is logged, told to the
 * listener and tried again until `stop`.
 */
export interface ConfigSource extends Part {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Brings the current set again even if nothing seems to have changed; for SIGHUP. */
  reload(): void;
}
