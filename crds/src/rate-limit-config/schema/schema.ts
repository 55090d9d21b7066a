// The RateLimitConfig custom resource: one definition gives the TypeScript type, the checks of manifests and the schema
// of the CRD. Rules about several fields or rules together are checked by the validator of @weir/limits.
import type { DescriptorModel } from "@weir/limits/model/model";
import * as z from "zod";

import { API_VERSION } from "../../schema/api-version.ts";
import { FLEET_NAME_RULE, fleetName } from "../../schema/fleet-name.ts";
import { flag, list, printableText } from "../../schema/fields.ts";
import { LIMIT_VALIDATIONS, limitSchema, limitsSchema, LIST_VALIDATIONS, REPLACES_VALIDATION } from "./limit-schema.ts";
import { objectMetadata, storedObjectMetadata } from "../../schema/object-metadata.ts";
import { omitUnknown, problemsOfError } from "../../schema/problems.ts";
import type { ManifestProblem } from "../../schema/problems.ts";

export { API_VERSION };

/** Kind of the custom resource. */
export const KIND = "RateLimitConfig";

/** Deepest nesting of rules. CRD schemas cannot be recursive, so each level is written out. */
const DESCRIPTOR_DEPTH_MAX = 6;

/** Most rules at the first level, and below each rule. */
const TOP_DESCRIPTORS_MAX = 1024;
const NESTED_DESCRIPTORS_MAX = 64;

/** Longest domain, and key and value of a rule, in characters. */
const DOMAIN_LENGTH_MAX = 256;
const KEY_LENGTH_MAX = 256;
const VALUE_LENGTH_MAX = 1024;

/** Most fleets that one resource is for, and facts of one rule. */
const FLEETS_MAX = 64;
const METADATA_FIELDS_MAX = 64;

/**
 * Deepest nesting of a rule's metadata: each level costs three of the 100 levels at which protobuf
 * decoders stop.
 */
const METADATA_DEPTH_MAX = 20;

const METADATA_MESSAGE = `must be a JSON value that nests at most ${METADATA_DEPTH_MAX} levels deep`;

/** CEL rules of the first level only: they cost too much below, or bound what is below. */
const TOP_VALIDATIONS = [
  {
    rule: "!has(self.shareThreshold) || !self.shareThreshold || self.key.contains('*') || self.value.contains('*')",
    message: "shareThreshold can only be used with wildcard values (containing '*')",
    fieldPath: ".shareThreshold",
  },
  REPLACES_VALIDATION,
  ...LIST_VALIDATIONS,
  {
    rule: `!has(self.descriptors) || self.descriptors.size() <= ${NESTED_DESCRIPTORS_MAX}`,
    message: `must have at most ${NESTED_DESCRIPTORS_MAX} items`,
    fieldPath: ".descriptors",
  },
] as const;

/** Fields that make a rule differ from the others of its level. */
const DESCRIPTOR_KEYS = ["key", "value"];

/** A value inside a rule's metadata. */
type MetadataValue = NonNullable<DescriptorModel["metadata"]>[string];

/** Everything of a rule but its limit and the rules below it. */
const plainFields = {
  key: printableText(KEY_LENGTH_MAX).min(1).meta({
    description:
      "Key that the entry of a request's descriptor must have. Each * matches any text. Letter case counts; no control characters.",
    example: "user",
  }),
  value: printableText(VALUE_LENGTH_MAX)
    .optional()
    .meta({
      default: "",
      example: "admin",
      description:
        "Value that the entry must have; absent or empty means any. Each * matches any text, the empty text included; no control characters. Of the rules of one " +
        "level, the one with exactly the entry's value wins, then the first with a * that matches, then the one without a value.",
    }),
  shadowMode: flag(
    "Count, but let every request pass: for trying a limit out. The statistics count what it would have rejected.",
  ),
  detailedMetric: flag(
    "Put the values of the request, at every level, into the names of this rule's statistics. Only the rule that decides counts; mind " +
      "the number of different values.",
  ),
  quotaMode: flag("Reject a request only when every rule in quota mode that matches it is over its limit."),
  valueToMetric: flag(
    "Put the value of the request at this level into the names of the statistics of this rule and of those below it.",
  ),
  shareThreshold: flag(
    "Count all values that match this rule's wildcard together, in one counter; needs a * in key or value.",
  ),
  showValues: flag(
    "Show the values of this level as texts in the keys that count most, where pods show hashes (TOP_KEYS_VALUES).",
  ),
  metadata: z
    .record(
      z.string(),
      z.custom<MetadataValue>((value) => isJson(value, METADATA_DEPTH_MAX), METADATA_MESSAGE),
    )
    .refine(
      (facts) => Object.keys(facts).length <= METADATA_FIELDS_MAX,
      `must have at most ${METADATA_FIELDS_MAX} fields`,
    )
    .optional()
    .meta({
      "x-kubernetes-preserve-unknown-fields": true,
      maxProperties: METADATA_FIELDS_MAX,
      description:
        "Free facts, returned to the caller in the dynamic metadata of the response. Any JSON, at most " +
        `${METADATA_FIELDS_MAX} fields that nest at most ${METADATA_DEPTH_MAX} levels deep.`,
      example: { team: "checkout" },
    }),
} as const;

/** The type of a rule without the rules below it. */
type DescriptorFields = z.infer<z.ZodObject<typeof plainFields>> & {
  rateLimit?: z.infer<ReturnType<typeof limitSchema>> | undefined;
  rateLimits?: z.infer<ReturnType<typeof limitsSchema>>;
};

/**
 * A rule: matches one entry of a request's descriptor, limits it or leads to rules for the next
 * entry.
 */
export interface DescriptorSpec extends DescriptorFields {
  descriptors?: DescriptorSpec[] | undefined;
}

/** The spec of a manifest: the rules of one domain. */
export const specSchema = z
  .object({
    domain: printableText(DOMAIN_LENGTH_MAX)
      .min(1)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: "self == oldSelf",
            message: "domain cannot be changed; delete and re-create the resource",
            reason: "FieldValueForbidden",
          },
        ],
        description:
          "Domain of the rules: what the proxy names in its requests, without control characters. It cannot be changed. One resource owns it in each fleet, the oldest that " +
          "claims it; others are refused with the reason DomainConflict until the owner is gone.",
        example: "shop",
      }),
    fleets: z
      .array(fleetName().describe(FLEET_NAME_RULE))
      .min(1)
      .max(FLEETS_MAX)
      .refine((fleets) => new Set(fleets).size === fleets.length, "must not name a fleet twice")
      .optional()
      .meta({
        "x-kubernetes-list-type": "set",
        description:
          "Fleets of rate limit pods that these rules are for. Absent means every fleet; an empty list is not valid.",
        example: ["edge"],
      }),
    shadowMode: flag(
      "Put every rule of this resource that has a limit into shadow mode: nothing is limited, and everything is still counted. The switch " +
        "for an emergency, which kubectl weir shadow sets.",
    ),
    descriptors: list(descriptorSchema(1), {
      max: TOP_DESCRIPTORS_MAX,
      keys: DESCRIPTOR_KEYS,
      description:
        "The rules of the first level, each for the first entry of a request's descriptor. A request is limited by the rule that its last " +
        `entry leads to; rules nest at most ${DESCRIPTOR_DEPTH_MAX} levels deep, and no two of one level may have the same key and value.`,
    }),
  })
  .meta({
    description: "The rules of one domain.",
    example: {
      domain: "shop",
      fleets: ["edge"],
      descriptors: [{ key: "user", rateLimit: { unit: "minute", requestsPerUnit: 20 } }],
    },
  });

const identity = z.object({ apiVersion: z.literal(API_VERSION), kind: z.literal(KIND) });

const resource = identity.extend({
  metadata: objectMetadata,
  spec: specSchema,
  // Written by the control plane; means nothing in a manifest.
  status: z.unknown().optional(),
});

const storedResource = resource.extend({ metadata: storedObjectMetadata });

/** A RateLimitConfig custom resource, as a manifest or the API server gives it. */
export type RateLimitConfigResource = z.infer<typeof storedResource>;

/** A resource, or what is wrong with it. */
export type ParsedResource =
  | {
      readonly ok: true;
      readonly resource: RateLimitConfigResource;
      /** Fields that are null, where not every way to apply a manifest accepts that. */
      readonly warnings: readonly ManifestProblem[];
    }
  | { readonly ok: false; readonly problems: readonly ManifestProblem[] };

/**
 * Checks a value against the schema. Fields that are null count as absent. Unknown fields are refused,
 * unless `unknownFields` says to ignore them: for values that come from an API server, which may be newer than this
 * program, and has checked labels and the like by itself.
 */
export function parseRateLimitConfigResource(
  value: unknown,
  options: { readonly unknownFields?: "refuse" | "ignore" } = {},
): ParsedResource {
  const named = identity.safeParse(value, { reportInput: true });
  // A value that is not a RateLimitConfig at all would only collect unknown fields.
  if (!named.success) return { ok: false, problems: problemsOfError(named.error) };
  const schema = options.unknownFields === "ignore" ? storedResource : resource;
  const known = omitUnknown(value, schema, { descriptors: `rules nest at most ${DESCRIPTOR_DEPTH_MAX} levels deep` });
  const parsed = schema.safeParse(known.value, { reportInput: true });
  const problems = options.unknownFields === "ignore" ? [] : [...known.problems];
  if (!parsed.success) problems.push(...problemsOfError(parsed.error));
  return parsed.success && problems.length === 0
    ? { ok: true, resource: parsed.data, warnings: known.nulls }
    : { ok: false, problems };
}

/** A rule of a level, counted from 1; rules of the last level have none below them. */
function descriptorSchema(level: number): z.ZodType<DescriptorSpec> {
  const isTop = level === 1;
  const { key, value, ...flags } = plainFields;
  const fields = { key, value, rateLimit: limitSchema(level).optional(), rateLimits: limitsSchema(level), ...flags };
  const meta = {
    "x-kubernetes-validations": isTop ? [...LIMIT_VALIDATIONS, ...TOP_VALIDATIONS] : LIMIT_VALIDATIONS,
    description:
      "A rule: matches one entry of a request's descriptor, and limits the request or leads to rules for the next entry.",
    example: { key: "user", rateLimit: { unit: "minute", requestsPerUnit: 20 } },
  };
  if (level === DESCRIPTOR_DEPTH_MAX) return z.object(fields).meta(meta);
  const descriptors = list(descriptorSchema(level + 1), {
    max: NESTED_DESCRIPTORS_MAX,
    keys: DESCRIPTOR_KEYS,
    description:
      "The rules for the next entry of the request's descriptor. A request with no further entry gets this rule's own limit.",
  });
  // Below a list without maxItems the budget for CEL follows from the size of a request, not from
  // the product of all lists, which no rule fits into: a rule of the first level bounds this list.
  return z
    .object({ ...fields, descriptors: isTop ? descriptors.meta({ maxItems: undefined }) : descriptors })
    .meta(meta);
}

function isJson(value: unknown, depthLeft: number): boolean {
  if (depthLeft === 0) return false;
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value === "object" && Object.values(value).every((inner) => isJson(inner, depthLeft - 1));
}
