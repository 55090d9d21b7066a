// The mapping of pull statistics that the settings ask for: the built-in one, or a file.
import { readFileSync } from "node:fs";

import { describeError, ServiceError } from "@weir/common/errors/service-error";

import type { RatelimitErrorCode } from "./errors.ts";
import type { PullSettings } from "./settings/statistics-settings.ts";
import { createDefaultMapping } from "./statistics/pull/default-mapping.ts";
import { parseMapping } from "./statistics/pull/mapping-file.ts";
import type { Mapping } from "./statistics/pull/mapping.ts";

/** The mapping. Fails with STATISTICS_MAPPING_INVALID, naming the file. */
export function loadMapping(pull: PullSettings): Mapping {
  if (pull.mappingPath === undefined) return createDefaultMapping({ isMilliseconds: pull.responseTimeAsMilliseconds });
  let text: string;
  try {
    text = readFileSync(pull.mappingPath, "utf8");
  } catch (cause) {
    const message = `Cannot use the mapping file ${pull.mappingPath}: ${describeError(cause)}`;
    throw new ServiceError<RatelimitErrorCode>("STATISTICS_MAPPING_INVALID", message, { cause });
  }
  return parseMapping(text, pull.mappingPath);
}
