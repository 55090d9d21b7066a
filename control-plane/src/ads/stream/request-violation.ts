// Finds requests that break the rules of a stream: such a request ends it.
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";
import { namesIn, type PodRequest } from "./variant.ts";

/** Most names that one request or subscription may list; pods list none. */
export const NAMES_MAX = 10_000;

/** Most resources that a pod may list as held: each takes memory until the pod answers. 4 MiB have room for fewer. */
export const HELD_MAX = 100_000;

/**
 * `aggregated`: requests name their type, and may name others than ours; `single-type`: ours is
 * meant when none is named, and no other can be; `delta`: aggregated, in the incremental variant.
 */
export type StreamKind = "aggregated" | "single-type" | "delta";

/** Returns true if a request where only our type can be meant asks for it: it need not name it. */
export function isRateLimitConfig(typeUrl: string): boolean {
  return typeUrl === "" || typeUrl === RATE_LIMIT_CONFIG_TYPE_URL;
}

/** The violation in a request, for the status that ends its stream; undefined when it may be answered. */
export function violationOf(request: PodRequest, kind: StreamKind): string | undefined {
  const { typeUrl } = request;
  const names = namesIn(request);
  if (typeUrl === "" && kind !== "single-type") return "type_url is missing: it is required on an aggregated stream";
  if (kind === "single-type" && !isRateLimitConfig(typeUrl))
    return `type_url must be ${RATE_LIMIT_CONFIG_TYPE_URL} or missing on this stream`;
  if (names > NAMES_MAX) return tooManyNames("resource_names", names);
  return undefined;
}

/** The text for a list or subscription with too many names. */
export function tooManyNames(field: string, names: number, max = NAMES_MAX): string {
  return `${field} holds ${names} names, at most ${max} are allowed`;
}
