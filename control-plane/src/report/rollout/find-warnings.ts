// Finds the fields of a resource that pods of envoyproxy/ratelimit ignore: they enforce its limits
// without them. Pure.
import { fieldPath } from "@weir/limits/model/field-path";
import type {
  RateLimitConfig,
  RateLimitDescriptor,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

/** Most warnings of one resource; the rest is counted. */
const WARNINGS_MAX = 10;

/** One warning for each such field. */
export function findWarnings({ descriptors }: Pick<RateLimitConfig, "descriptors">): readonly string[] {
  const paths = descriptors.flatMap((descriptor, index) => findFields(descriptor, ["spec", "descriptors", index]));
  const shown = paths.slice(0, WARNINGS_MAX).map((path) => `${path}: pods of envoyproxy/ratelimit ignore this field`);
  return paths.length > WARNINGS_MAX ? [...shown, `and ${paths.length - WARNINGS_MAX} more fields like these`] : shown;
}

function findFields(descriptor: RateLimitDescriptor, path: readonly (string | number)[]): readonly string[] {
  return [
    ...(descriptor.valueToMetric ? [fieldPath([...path, "valueToMetric"])] : []),
    ...(descriptor.shareThreshold ? [fieldPath([...path, "shareThreshold"])] : []),
    ...descriptor.descriptors.flatMap((child, index) => findFields(child, [...path, "descriptors", index])),
  ];
}
