// The CustomResourceDefinition of RateLimitConfigRevision, whose spec is that of a RateLimitConfig.
import { column, type Definition, definitionYaml } from "../../schema/definition.ts";
import { specSchema } from "../../rate-limit-config/schema/schema.ts";
import { REVISION_KIND, REVISION_PLURAL } from "../revision.ts";

/** Message and reason of the rules that make a revision immutable. */
const UNCHANGED = {
  message: "spec cannot be changed; the operator makes another revision",
  reason: "FieldValueForbidden",
};

/** Longest compressed spec, in characters: etcd takes 1.5 MiB in all. */
const COMPRESSED_LENGTH_MAX = 1_500_000;

export const REVISION_DEFINITION: Definition = {
  kind: REVISION_KIND,
  plural: REVISION_PLURAL,
  shortName: "rlcr",
  generatedBy: "crds/src/rate-limit-config-revision/crd/generate.ts from schema.ts of rate-limit-config",
  description:
    "The last revision of a RateLimitConfig that every rate limit pod which receives it has loaded. The operator keeps it, and the control plane serves it when the " +
    "current revision cannot be, also after a restart of everything. Its owner is the RateLimitConfig, with which it is deleted.",
  spec: specSchema.meta({
    "x-kubernetes-validations": [{ rule: "self == oldSelf", ...UNCHANGED }],
    description: "The spec that the RateLimitConfig had.",
  }),
  alternatives: {
    compressedSpec: {
      description:
        "A large spec that the RateLimitConfig had: its JSON, compressed with gzip, in base64. A revision has either this or spec.",
      // Without the format "byte": CEL reads that as base64 of another alphabet.
      type: "string",
      example: "H4sIAAAAAAAAA6tWSsnPTczMU7JSKs7IL1CqBQDOIrT+EQAAAA==",
      maxLength: COMPRESSED_LENGTH_MAX,
      "x-kubernetes-validations": [{ rule: "self == oldSelf", ...UNCHANGED }],
    },
  },
  validations: [
    { rule: "has(self.spec) != has(self.compressedSpec)", message: "must have either spec or compressedSpec" },
    { rule: "has(self.spec) == has(oldSelf.spec)", ...UNCHANGED },
  ],
  columns: [
    column("Config", "RateLimitConfig whose revision it is.", ".metadata.ownerReferences[0].name"),
    column("Domain", "Domain of the rules.", ".spec.domain"),
    column("Age", "Time since all pods had loaded it.", ".metadata.creationTimestamp", "date"),
  ],
};

/** The CustomResourceDefinition as YAML. */
export function revisionCrdYaml(): string {
  return definitionYaml(REVISION_DEFINITION);
}
