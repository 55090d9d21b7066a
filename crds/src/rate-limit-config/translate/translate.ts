// From the custom resource to the model that is validated, sent and compiled.
import { fieldPath } from "@weir/limits/model/field-path";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "@weir/limits/model/model";
import { findProblems } from "@weir/limits/validate/validate";

import type { ManifestProblem } from "../../schema/problems.ts";
import type { DescriptorSpec, RateLimitConfigResource } from "../schema/schema.ts";

/** Namespace of a resource that names none. */
const DEFAULT_NAMESPACE = "default";

/**
 * The model of a resource. Its name is `<namespace>/<name>`, so that a rejection of the data plane
 * can be led back to the resource.
 */
export function modelOfResource(resource: RateLimitConfigResource): RateLimitConfigModel {
  const { name, namespace } = resource.metadata;
  return {
    name: `${namespace ?? DEFAULT_NAMESPACE}/${name}`,
    domain: resource.spec.domain,
    descriptors: (resource.spec.descriptors ?? []).map(modelOfDescriptor),
  };
}

/** What the validator of all rules finds in a resource that the schema accepts. */
export function ruleProblems(resource: RateLimitConfigResource): readonly ManifestProblem[] {
  return findProblems(modelOfResource(resource)).map(({ path, message, first }) => {
    const found = { path: ["spec", ...path], message };
    if (first === undefined) return found;
    const other = ["spec", ...first.path];
    return { ...found, message: `${message}, first at ${fieldPath(other)}`, first: other };
  });
}

function modelOfDescriptor(spec: DescriptorSpec): DescriptorModel {
  return {
    key: spec.key,
    value: spec.value ?? "",
    ...(spec.rateLimit === undefined ? {} : { rateLimit: modelOfLimit(spec.rateLimit) }),
    descriptors: (spec.descriptors ?? []).map(modelOfDescriptor),
    shadowMode: spec.shadowMode ?? false,
    detailedMetric: spec.detailedMetric ?? false,
    quotaMode: spec.quotaMode ?? false,
    valueToMetric: spec.valueToMetric ?? false,
    shareThreshold: spec.shareThreshold ?? false,
    ...(spec.metadata === undefined ? {} : { metadata: spec.metadata }),
  };
}

function modelOfLimit(spec: NonNullable<DescriptorSpec["rateLimit"]>): RateLimitModel {
  return {
    unit: spec.unit ?? "",
    requestsPerUnit: spec.requestsPerUnit ?? 0,
    unlimited: spec.unlimited ?? false,
    name: spec.name ?? "",
    replaces: spec.replaces ?? [],
  };
}
