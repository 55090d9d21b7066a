// The RateLimitService custom resource: one definition gives the TypeScript type, the checks of manifests and the
// schema of the CRD.
import * as z from "zod";

import { API_VERSION } from "../../schema/api-version.ts";
import { brokenRules, type CelRule, findBrokenRules } from "../../schema/cel-rules.ts";
import { FLEET_NAME_RULE, fleetName } from "../../schema/fleet-name.ts";
import { objectMetadata, storedObjectMetadata } from "../../schema/object-metadata.ts";
import { type ManifestProblem, omitUnknown, problemsOfError } from "../../schema/problems.ts";
import { backendSchema } from "./backend-schema.ts";
import { behaviorFields } from "./behavior-schema.ts";
import { envSchema } from "./env-schema.ts";
import { networkFields } from "./network-schema.ts";
import { podFields } from "./pod-schema.ts";
import { scalingFields } from "./scaling-schema.ts";
import { statusSchema } from "./status-schema.ts";

/** Kind of the custom resource. */
export const SERVICE_KIND = "RateLimitService";

/** Longest name of a resource, in characters: names of what the operator makes are longer. */
const SERVICE_NAME_LENGTH_MAX = 52;

const SERVICE_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** The fields that decide how many pods there are, and how many there may be. */
interface PodCount {
  readonly replicas?: number;
  readonly autoscaling?: {
    readonly maxReplicas: number;
    readonly targetCPUUtilizationPercentage?: number;
    readonly metrics?: readonly unknown[];
  };
  readonly resources?: { readonly requests?: object; readonly limits?: object };
  readonly backend: { readonly type: string; readonly memory?: { readonly allowUnsharedCounters?: boolean } };
}

/** CEL rules of the whole spec. */
const SPEC_VALIDATIONS: readonly CelRule<PodCount>[] = [
  {
    // Otherwise an old resource could take the fleet of a younger one, with its certificate.
    rule: "has(self.fleet) == has(oldSelf.fleet) && (!has(self.fleet) || self.fleet == oldSelf.fleet)",
    message: "fleet cannot be changed; delete and re-create the resource",
    fieldPath: ".fleet",
    reason: "FieldValueForbidden",
  },
  {
    rule: "!has(self.replicas) || !has(self.autoscaling)",
    message: "replicas must be absent when autoscaling is set, which decides the number of pods",
    fieldPath: ".replicas",
    reason: "FieldValueForbidden",
    isKept: ({ replicas, autoscaling }) => replicas === undefined || autoscaling === undefined,
  },
  {
    rule:
      "self.backend.type != 'memory' || (has(self.backend.memory) && has(self.backend.memory.allowUnsharedCounters) && self.backend.memory.allowUnsharedCounters) || " +
      "(has(self.autoscaling) ? self.autoscaling.maxReplicas <= 1 : !has(self.replicas) || self.replicas <= 1)",
    message:
      "more than one pod with the backend memory, where each pod counts by itself, needs backend.memory.allowUnsharedCounters: true; or use one pod, redis or memcached",
    fieldPath: ".backend",
    isKept: ({ replicas = 1, autoscaling, backend }) =>
      backend.type !== "memory" ||
      backend.memory?.allowUnsharedCounters === true ||
      (autoscaling?.maxReplicas ?? replicas) <= 1,
  },
  {
    // Kubernetes takes a limit as the request. Without either, an autoscaler reads no use and never adds a pod.
    rule:
      "!has(self.autoscaling) || !has(self.resources) || " +
      "(has(self.autoscaling.metrics) && self.autoscaling.metrics.size() > 0 && !has(self.autoscaling.targetCPUUtilizationPercentage)) || " +
      "(has(self.resources.requests) && 'cpu' in self.resources.requests) || (has(self.resources.limits) && 'cpu' in self.resources.limits)",
    message:
      "resources.requests.cpu must be set when autoscaling adds pods by the use of the processor, which is a share of it; or leave resources out, or use autoscaling.metrics without targetCPUUtilizationPercentage",
    fieldPath: ".resources",
    isKept: ({ autoscaling, resources }) =>
      autoscaling === undefined ||
      resources === undefined ||
      ((autoscaling.metrics ?? []).length > 0 && autoscaling.targetCPUUtilizationPercentage === undefined) ||
      [resources.requests, resources.limits].some((amounts) => amounts !== undefined && "cpu" in amounts),
  },
];

/** CEL rules of the resource, which alone see its name. */
export const RESOURCE_VALIDATIONS: readonly CelRule<Pick<RateLimitServiceResource, "metadata">>[] = [
  {
    rule: "self.metadata.name != 'ca'",
    message:
      "metadata.name must not be ca, because ca.crt is the file of the authorities, next to the certificates that are named after resources",
    path: ["metadata", "name"],
    isKept: ({ metadata }) => metadata.name !== "ca",
  },
  {
    rule: `self.metadata.name.size() <= ${SERVICE_NAME_LENGTH_MAX} && self.metadata.name.matches('${SERVICE_NAME.source}')`,
    message: `metadata.name must have at most ${SERVICE_NAME_LENGTH_MAX} lower-case letters, digits and "-", begin with a letter and end with a letter or digit, because a Service is named after it`,
    path: ["metadata", "name"],
    isKept: ({ metadata: { name } }) => name.length <= SERVICE_NAME_LENGTH_MAX && SERVICE_NAME.test(name),
  },
];

export const serviceSpecSchema = z
  .object({
    ...scalingFields,
    fleet: fleetName()
      .optional()
      .meta({
        description: `Fleet that the pods belong to: RateLimitConfigs name it in spec.fleets. It cannot be changed. Absent: NAMESPACE.NAME, shortened with a hash to 63 characters. Only RateLimitServices of a namespace may name NAMESPACE.*; a name without a dot belongs to the oldest that names it. ${FLEET_NAME_RULE}`,
        example: "edge",
      }),
    backend: backendSchema,
    ...networkFields,
    ...behaviorFields,
    ...podFields,
    env: envSchema,
  })
  .meta({
    "x-kubernetes-validations": SPEC_VALIDATIONS,
    description: "The pods, and what they do.",
    example: {
      replicas: 3,
      backend: { type: "redis", redis: { type: "single", single: { address: "redis.shop.svc:6379" } } },
    },
  });

const identity = z.object({ apiVersion: z.literal(API_VERSION), kind: z.literal(SERVICE_KIND) });

const resource = identity.extend({ metadata: objectMetadata, spec: serviceSpecSchema, status: z.unknown().optional() });

const storedResource = resource.extend({ metadata: storedObjectMetadata, status: statusSchema.optional() });

/** A RateLimitService, as a manifest or the API server gives it. */
export type RateLimitServiceResource = z.infer<typeof storedResource>;

export type RateLimitServiceSpec = z.infer<typeof serviceSpecSchema>;

export type RateLimitServiceStatus = z.infer<typeof statusSchema>;

/** A resource, or what is wrong with it. */
export type ParsedService =
  | {
      readonly ok: true;
      readonly resource: RateLimitServiceResource;
      /** Fields that are null, where not every way to apply a manifest accepts that. */
      readonly warnings: readonly ManifestProblem[];
    }
  | { readonly ok: false; readonly problems: readonly ManifestProblem[] };

/** The rules between fields that a valid resource does not keep, as the API server has them. */
export function serviceRuleProblems(resource: RateLimitServiceResource): readonly ManifestProblem[] {
  return [
    ...brokenRules(RESOURCE_VALIDATIONS, resource, []),
    ...findBrokenRules(serviceSpecSchema, resource.spec, ["spec"]),
  ];
}

/**
 * Checks a value against the schema, without its CEL rules, which {@link serviceRuleProblems} checks. Unknown fields are refused, unless
 * `unknownFields` says to ignore them: for values that come from an API server, which may be newer than this program.
 */
export function parseRateLimitService(
  value: unknown,
  options: { readonly unknownFields?: "refuse" | "ignore" } = {},
): ParsedService {
  const named = identity.safeParse(value, { reportInput: true });
  if (!named.success) return { ok: false, problems: problemsOfError(named.error) };
  const isStored = options.unknownFields === "ignore";
  const schema = isStored ? storedResource : resource;
  const known = omitUnknown(value, schema, {});
  const parsed = schema.safeParse(known.value, { reportInput: true });
  const problems = isStored ? [] : [...known.problems];
  if (!parsed.success) problems.push(...problemsOfError(parsed.error));
  return parsed.success && problems.length === 0
    ? { ok: true, resource: parsed.data as RateLimitServiceResource, warnings: known.nulls }
    : { ok: false, problems };
}
