// The error of a configuration that is not taken. Every source makes it, whatever its wire; the
// codes stand in the workspace's errors.ts.
import { ServiceError } from "@weir/common/errors/service-error";
import type { ConfigSetProblem } from "@weir/limits/validate/validate";

import type { ConfigErrorCode } from "../errors.ts";

/**
 * Why a configuration was refused, as `<name>: <text of the reference>`; or why there is none, and
 * then the message names what cannot be read.
 */
export class ConfigError extends ServiceError<ConfigErrorCode> {
  override readonly name = "ConfigError";
  /**
   * The broken rule, when it was found in a model: a source can tell the place in its own text from
   * it.
   */
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
