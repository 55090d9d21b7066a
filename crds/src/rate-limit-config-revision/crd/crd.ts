// The CustomResourceDefinition of RateLimitConfigRevision, whose spec is that of a RateLimitConfig.
import { column, definitionYaml } from "../../schema/definition.ts";
import { specSchema } from "../../rate-limit-config/schema/schema.ts";
import { REVISION_KIND, REVISION_PLURAL } from "../revision.ts";

/** The CustomResourceDefinition as YAML. */
export function revisionCrdYaml(): string {
  return definitionYaml({
    kind: REVISION_KIND,
    plural: REVISION_PLURAL,
    shortName: "rlcr",
    generatedBy: "crds/src/rate-limit-config-revision/crd/generate.ts from schema.ts of rate-limit-config",
    description:
      "The last form of a RateLimitConfig that every rate limit pod which receives it has loaded. The operator keeps it, and the control plane serves it when the " +
      "present form cannot be, also after a restart of everything. Its owner is the RateLimitConfig, with which it is deleted.",
    spec: specSchema.meta({
      "x-kubernetes-validations": [
        {
          rule: "self == oldSelf",
          message: "spec cannot be changed; the operator makes another revision",
          reason: "FieldValueForbidden",
        },
      ],
      description: "The spec that the RateLimitConfig had.",
    }),
    columns: [
      column("Config", "RateLimitConfig whose form it is.", ".metadata.ownerReferences[0].name"),
      column("Domain", "Domain of the rules.", ".spec.domain"),
      column("Age", "Time since all pods had loaded it.", ".metadata.creationTimestamp", "date"),
    ],
  });
}
