// The RateLimitConfig custom resource: this one definition gives the TypeScript type, the validation and the schema of the CRD (generate.ts).
// What needs a look at several fields or rules at once is the validator's business (translate.ts hands resources over to it).
import type { DescriptorModel } from "@weir/proto/rate-limit-config/model";
import * as z from "zod";

import { omitUnknown, problemOfIssue } from "./problems.ts";
import type { ManifestProblem } from "./problems.ts";

/** API group and version of the custom resource. */
export const API_VERSION = "ratelimit.weir.dev/v1alpha1";

/** Kind of the custom resource. */
export const KIND = "RateLimitConfig";

/** Deepest nesting of rules. CRD schemas cannot be recursive, so each level is written out. */
const DESCRIPTOR_DEPTH_MAX = 6;

/** Longest key and value of a rule, in characters. */
const KEY_LENGTH_MAX = 256;
const VALUE_LENGTH_MAX = 1024;

/** Largest number of requests per unit: what the 32 bits on the wire hold. */
const REQUESTS_MAX = 4_294_967_295;

/** Deepest nesting of a rule's metadata: each level costs three of the 100 levels at which protobuf decoders stop. */
const METADATA_DEPTH_MAX = 20;

/** Names as Kubernetes wants them: of objects (DNS subdomain) and of namespaces (DNS label). */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const OBJECT_NAME_LENGTH_MAX = 253;
const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const NAMESPACE_NAME_LENGTH_MAX = 63;

/** Names of fleets: Kubernetes label values, so that a fleet can be selected by a label. What pods of no named fleet get shows as "*". */
const FLEET_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const FLEET_NAME_LENGTH_MAX = 63;

const OBJECT_NAME_MESSAGE = 'must consist of lower-case letters, digits, "-" and ".", and begin and end with a letter or digit';
const NAMESPACE_NAME_MESSAGE = 'must consist of lower-case letters, digits and "-", and begin and end with a letter or digit';
const FLEET_NAME_MESSAGE = 'must consist of letters, digits, "-", "_" and ".", and begin and end with a letter or digit';
const TIME_MESSAGE = "must be a time such as 2026-01-31T12:00:00Z";
const METADATA_MESSAGE = `must be a JSON value that nests at most ${METADATA_DEPTH_MAX} levels deep`;

/** A value inside a rule's metadata. */
type MetadataValue = NonNullable<DescriptorModel["metadata"]>[string];

const rateLimit = z
  .object({
    unit: z
      .enum(["second", "minute", "hour", "day", "week", "month", "year"])
      .optional()
      .describe(
        "Length of the window in which requests are counted. A month is 30 days and a year 365 days; windows are aligned to the Unix epoch. " +
          "Required, unless unlimited is true: then it must be absent.",
      ),
    requestsPerUnit: z
      .int()
      .min(0)
      .max(REQUESTS_MAX)
      .optional()
      .meta({ format: "int64", description: "Requests allowed in one unit. 0 rejects every request. Required, unless unlimited is true." }),
    unlimited: z.boolean().optional().describe("Every request passes, and is still counted in the statistics."),
    name: z.string().optional().describe("Name of the limit: told to the caller, and used by replaces of other limits."),
    replaces: z
      .array(z.object({ name: z.string().min(1).describe("Name of the limit to switch off.") }).describe("Names one limit."))
      .optional()
      .describe("Limits that this one switches off when both match the same request."),
  })
  .superRefine((limit, context) => {
    if (limit.unlimited === true) return;
    if (limit.unit === undefined) {
      context.addIssue({ code: "custom", path: ["unit"], message: "is required, unless unlimited is true" });
    }
    if (limit.requestsPerUnit === undefined) {
      context.addIssue({
        code: "custom",
        path: ["requestsPerUnit"],
        message: "is required, unless unlimited is true; 0 rejects every request",
      });
    }
  })
  .describe("The limit. A rule without one leads to the rules below it, or exempts its value from a rule on the same key.");

/** Everything of a rule but the rules below it. */
const descriptorFields = {
  key: text(KEY_LENGTH_MAX).min(1).describe("Key that the entry of a request's descriptor must have."),
  value: text(VALUE_LENGTH_MAX)
    .optional()
    .describe("Value that the entry must have; absent or empty means any. Each * stands for any text, the empty text included."),
  rateLimit: rateLimit.optional(),
  shadowMode: z.boolean().optional().describe("Count, but let every request pass."),
  detailedMetric: z.boolean().optional().describe("Put the values of the request into the names of this rule's statistics."),
  quotaMode: z.boolean().optional().describe("Reject a request only when every rule in quota mode that matches it is over its limit."),
  valueToMetric: z.boolean().optional().describe("Put the value of the request at this level into the names of the statistics."),
  shareThreshold: z.boolean().optional().describe("Count all values that match this rule's wildcard together; needs a * in key or value."),
  metadata: z
    .record(
      z.string(),
      z.custom<MetadataValue>((value) => isJson(value, METADATA_DEPTH_MAX), METADATA_MESSAGE),
    )
    .optional()
    .meta({
      "x-kubernetes-preserve-unknown-fields": true,
      description: "Free facts, told to the caller in the dynamic metadata of the answer.",
    }),
} as const;

/** A rule: matches one entry of a request's descriptor, limits it or leads to rules for the next entry. */
export interface DescriptorSpec extends z.infer<z.ZodObject<typeof descriptorFields>> {
  descriptors?: DescriptorSpec[] | undefined;
}

/** What a manifest says: the rules of one domain. */
export const specSchema = z
  .object({
    domain: z
      .string()
      .min(1)
      .describe("Domain of the rules: what the proxy names in its requests. One resource owns it, the oldest that claims it."),
    fleets: z
      .array(
        z.string().min(1, { abort: true }).max(FLEET_NAME_LENGTH_MAX).regex(FLEET_NAME, FLEET_NAME_MESSAGE).describe("Name of a fleet."),
      )
      .min(1)
      .refine((fleets) => new Set(fleets).size === fleets.length, "must not name a fleet twice")
      .optional()
      .meta({
        "x-kubernetes-list-type": "set",
        description: "Fleets of rate limit pods that these rules are for. Absent means every fleet.",
      }),
    descriptors: descriptorList(DESCRIPTOR_DEPTH_MAX)
      .optional()
      .describe("The rules at the top level, each for the first entry of a request's descriptor."),
  })
  .describe("The rules of one domain.");

const metadata = z.object({
  name: z.string().max(OBJECT_NAME_LENGTH_MAX).regex(OBJECT_NAME, OBJECT_NAME_MESSAGE),
  namespace: z.string().max(NAMESPACE_NAME_LENGTH_MAX).regex(NAMESPACE_NAME, NAMESPACE_NAME_MESSAGE).optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.int().optional(),
  creationTimestamp: z.iso.datetime({ offset: true, error: TIME_MESSAGE }).optional(),
  deletionTimestamp: z.iso.datetime({ offset: true, error: TIME_MESSAGE }).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  // Kubernetes' own business: known, so that they are not refused, and not looked at.
  deletionGracePeriodSeconds: z.unknown().optional(),
  finalizers: z.unknown().optional(),
  generateName: z.unknown().optional(),
  managedFields: z.unknown().optional(),
  ownerReferences: z.unknown().optional(),
  selfLink: z.unknown().optional(),
});

const identity = z.object({ apiVersion: z.literal(API_VERSION), kind: z.literal(KIND) });

const resource = identity.extend({
  metadata,
  spec: specSchema,
  // Written by the operator; means nothing in a manifest.
  status: z.unknown().optional(),
});

/** A RateLimitConfig custom resource, as a manifest or the API server gives it. */
export type RateLimitConfigResource = z.infer<typeof resource>;

/** A resource, or what is wrong with it. */
export type ParsedResource =
  { readonly ok: true; readonly resource: RateLimitConfigResource } | { readonly ok: false; readonly problems: readonly ManifestProblem[] };

/**
 * Checks a value against the schema. Null fields count as absent, as the API server has it. Unknown fields are refused, unless `unknownFields` says
 * to ignore them: for values that come from an API server, which may be newer than this program.
 */
export function parseRateLimitConfigResource(
  value: unknown,
  options: { readonly unknownFields?: "refuse" | "ignore" } = {},
): ParsedResource {
  const named = identity.safeParse(value, { reportInput: true });
  // What is not a RateLimitConfig at all would only collect unknown fields.
  if (!named.success) return { ok: false, problems: named.error.issues.map((issue) => problemOfIssue(issue)) };
  const known = omitUnknown(value, resource, { ends: { descriptors: `rules nest at most ${DESCRIPTOR_DEPTH_MAX} levels deep` } });
  const parsed = resource.safeParse(known.value, { reportInput: true });
  const problems = options.unknownFields === "ignore" ? [] : [...known.problems];
  if (!parsed.success) problems.push(...parsed.error.issues.map((issue) => problemOfIssue(issue)));
  return parsed.success && problems.length === 0 ? { ok: true, resource: parsed.data } : { ok: false, problems };
}

/** The rules of one level; those of the last level have none below them. */
function descriptorList(levels: number): z.ZodArray<z.ZodType<DescriptorSpec>> {
  const description = "A rule: matches one entry, limits it or leads to rules for the next.";
  if (levels === 1) return z.array(z.object(descriptorFields).describe(description));
  const descriptors = descriptorList(levels - 1)
    .optional()
    .describe("The rules for the next entry.");
  return z.array(z.object({ ...descriptorFields, descriptors }).describe(description));
}

/** A text of at most so many characters; JSON schema counts code points, not the halves of surrogate pairs. */
function text(charactersMax: number): z.ZodString {
  const isShort = (value: string): boolean => value.length <= charactersMax || Array.from(value).length <= charactersMax;
  return z.string().refine(isShort, `must have at most ${charactersMax} characters`).meta({ maxLength: charactersMax });
}

function isJson(value: unknown, depthLeft: number): boolean {
  if (depthLeft === 0) return false;
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value === "object" && Object.values(value).every((inner) => isJson(inner, depthLeft - 1));
}
