// The spec of a resource as YAML, for people to read.
import { stringify } from "yaml";

import type { RateLimitConfigResource } from "../schema/schema.ts";

/** The text; nothing of it is folded. */
export function specText({ spec }: RateLimitConfigResource): string {
  return stringify(spec, { lineWidth: 0, aliasDuplicateObjects: false });
}
