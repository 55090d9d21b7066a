// Makes a strict JSON schema from the schema of a custom resource: Kubernetes drops unknown fields, Helm refuses them.
// Pure.
import { fieldsOf, type Mapping, mappingOf, mappingsOf } from "@weir/kubernetes/mapping";
import type { JsonSchema } from "./constraints.ts";

/** The schema of `spec` in a definition of one version. */
export function specSchema(definition: Mapping): JsonSchema {
  const [version] = mappingsOf(fieldsOf(definition["spec"])["versions"]);
  const { openAPIV3Schema } = fieldsOf(version?.["schema"]);
  return strictSchema(fieldsOf(fieldsOf(openAPIV3Schema)["properties"])["spec"]);
}

/** Without descriptions, which `kubectl explain` shows, and examples, and with the listed fields only. */
function strictSchema(schema: unknown): JsonSchema {
  const {
    description: _description,
    example: _example,
    properties,
    items,
    additionalProperties,
    ...rest
  } = fieldsOf(schema);
  const isOpen = rest["x-kubernetes-preserve-unknown-fields"] === true;
  const plain = Object.entries(rest).filter(([key]) => !key.startsWith("x-kubernetes-"));
  return {
    ...Object.fromEntries(plain),
    ...(items !== undefined && { items: strictSchema(items) }),
    ...(mappingOf(additionalProperties) !== undefined && { additionalProperties: strictSchema(additionalProperties) }),
    ...(properties !== undefined && {
      ...(!isOpen && { additionalProperties: false }),
      properties: Object.fromEntries(
        Object.entries(fieldsOf(properties)).map(([name, property]) => [name, strictSchema(property)]),
      ),
    }),
  };
}
