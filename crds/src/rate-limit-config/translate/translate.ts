// From the custom resource to the model that is validated, sent and compiled.
import { fieldPath } from "@weir/limits/model/field-path";
import {
  type DescriptorModel,
  type RateLimitConfigModel,
  type RateLimitModel,
  windowFieldsOf,
} from "@weir/limits/model/model";
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
    descriptors: (resource.spec.descriptors ?? []).map((spec) => modelOfDescriptor(spec, resource.spec.shadowMode)),
  };
}

/**
 * An earlier revision with the switch of its resource as it is now: what pods enforce of a resource in shadow mode
 * is in shadow mode, whatever the reason is that they do not enforce the present revision.
 */
export function withShadowMode(revision: RateLimitConfigResource, shadowMode: unknown): RateLimitConfigResource {
  const isSame = (revision.spec.shadowMode ?? false) === (shadowMode === true);
  return isSame ? revision : { ...revision, spec: { ...revision.spec, shadowMode: !revision.spec.shadowMode } };
}

/** The problems that the validator of all rules finds in a resource that the schema accepts. */
export function ruleProblems(resource: RateLimitConfigResource): readonly ManifestProblem[] {
  return findProblems(modelOfResource(resource)).map(({ path, message, first }) => {
    const found = { path: ["spec", ...path], message };
    if (first === undefined) return found;
    const other = ["spec", ...first.path];
    return { ...found, message: `${message}, first at ${fieldPath(other)}`, first: other };
  });
}

/** `isShadow`: the whole resource is in shadow mode. A rule without a limit has nothing to be in shadow mode. */
function modelOfDescriptor(spec: DescriptorSpec, isShadow = false): DescriptorModel {
  const hasLimit = spec.rateLimit !== undefined || spec.rateLimits !== undefined;
  return {
    key: spec.key,
    value: spec.value ?? "",
    ...(spec.rateLimit === undefined ? {} : { rateLimit: modelOfLimit(spec.rateLimit) }),
    ...(spec.rateLimits === undefined ? {} : { rateLimits: spec.rateLimits.map(modelOfLimit) }),
    descriptors: (spec.descriptors ?? []).map((inner) => modelOfDescriptor(inner, isShadow)),
    shadowMode: (spec.shadowMode ?? false) || (isShadow && hasLimit),
    detailedMetric: spec.detailedMetric ?? false,
    quotaMode: spec.quotaMode ?? false,
    valueToMetric: spec.valueToMetric ?? false,
    shareThreshold: spec.shareThreshold ?? false,
    ...(spec.showValues === true && { showValues: true }),
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
    ...windowFieldsOf(spec),
  };
}
