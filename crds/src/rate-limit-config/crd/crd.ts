// The CustomResourceDefinition of RateLimitConfig, from its schema.
import { column, type Definition, conditionPath, definitionYaml } from "../../schema/definition.ts";
import { KIND, specSchema } from "../schema/schema.ts";
import { statusSchema } from "../schema/status-schema.ts";

export const CONFIG_DEFINITION: Definition = {
  kind: KIND,
  plural: "ratelimitconfigs",
  shortName: "rlc",
  generatedBy: "crds/src/rate-limit-config/crd/generate.ts from schema.ts",
  description:
    "Rate limits of one domain. The control plane sends them to the rate limit pods of its fleets, where they are enforced within a second; the " +
    "status shows which of them have loaded them.",
  spec: specSchema,
  status: statusSchema,
  // For kubectl get rlc -A --field-selector spec.domain=shop
  selectableFields: [{ jsonPath: ".spec.domain" }],
  columns: [
    column("Domain", "Domain of the rules.", ".spec.domain"),
    column("Accepted", "Valid, and owner of its domain.", conditionPath("Accepted", "status")),
    column("Programmed", "Loaded by the rate limit pods.", conditionPath("Programmed", "status")),
    column("Pods", "Pods that have loaded it, of those that should.", ".status.pods.summary"),
    column("Reason", "Why it is ready or not.", conditionPath("Ready", "reason")),
    column("Shadow", "true: nothing is limited, only counted.", ".spec.shadowMode", "boolean"),
    { ...column("Fleets", "Fleets that it is for; empty means every fleet.", ".spec.fleets"), priority: 1 },
    column("Age", "Time since it was created.", ".metadata.creationTimestamp", "date"),
  ],
};

/** The CustomResourceDefinition as YAML. */
export function crdYaml(): string {
  return definitionYaml(CONFIG_DEFINITION);
}
