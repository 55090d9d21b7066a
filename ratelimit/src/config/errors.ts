// The error of an invalid or unavailable configuration, from any source.
import { ServiceError } from "@weir/common/errors/service-error";
import type { ConfigSetProblem } from "@weir/limits/validate/validate";

import type { ConfigErrorCode } from "../errors.ts";

/**
 * The reason why a configuration is invalid, as `<name>: <text of envoyproxy/ratelimit>`, or why
 * there is none.
 */
export class ConfigError extends ServiceError<ConfigErrorCode> {
  override readonly name = "ConfigError";
  /** The problem found in a model; a source finds its location in the source's own text with it. */
  readonly problem: ConfigSetProblem | undefined;

  constructor(
    code: ConfigErrorCode,
    message: string,
    options: { readonly problem?: ConfigSetProblem; readonly cause?: unknown } = {},
  ) {
    super(code, message, { cause: options.cause, transient: code === "CONFIG_SOURCE_UNAVAILABLE" });
    this.problem = options.problem;
  }
}
