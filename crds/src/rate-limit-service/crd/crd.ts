// The CustomResourceDefinition of RateLimitService, from its schema.
import { column, type Definition, conditionPath, definitionYaml } from "../../schema/definition.ts";
import { RESOURCE_VALIDATIONS, SERVICE_KIND, serviceSpecSchema } from "../schema/schema.ts";
import { statusSchema } from "../schema/status-schema.ts";

export const SERVICE_DEFINITION: Definition = {
  kind: SERVICE_KIND,
  plural: "ratelimitservices",
  shortName: "rls",
  generatedBy: "crds/src/rate-limit-service/crd/generate.ts from schema.ts",
  description:
    "A rate limit service: pods that enforce RateLimitConfigs, connected to the control plane. The operator keeps a Deployment, a Service and what belongs to them.",
  spec: serviceSpecSchema,
  status: statusSchema,
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
  validations: RESOURCE_VALIDATIONS,
  columns: [
    column("Ready", "Pods that are ready.", ".status.readyReplicas", "integer"),
    column("Replicas", "Pods that exist.", ".status.replicas", "integer"),
    column("Backend", "Where the counters are.", ".spec.backend.type"),
    column("Fleet", "Fleet that the pods belong to.", ".status.fleet"),
    column(
      "Degraded",
      "What is wrong and does not pass by itself; AsExpected: nothing.",
      conditionPath("Degraded", "reason"),
    ),
    { ...column("Available", "Whether enough pods are ready.", conditionPath("Available", "status")), priority: 1 },
    {
      ...column("Connected", "Whether the ready pods are connected.", conditionPath("Connected", "status")),
      priority: 1,
    },
    column("Age", "Time since it was created.", ".metadata.creationTimestamp", "date"),
  ],
};

/** The CustomResourceDefinition as YAML. */
export function serviceCrdYaml(): string {
  return definitionYaml(SERVICE_DEFINITION);
}
