// Makes the schemas that kubeconform reads from what an API server publishes, strict: no field that it does not list.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf, type Mapping, mappingOf, mappingsOf } from "@weir/kubernetes/mapping";

/** The path below the folder at which kubeconform finds the schema of a kind. */
export const SCHEMA_LOCATION = "{{.ResourceKind}}{{.KindSuffix}}.json";

/** The prefix of references between definitions. */
const REFERENCE = "#/definitions/";

/** Writes a schema for each kind of `openApi`, the document of /openapi/v2, below `folder`. */
export function writeSchemas(openApi: Mapping, folder: string): void {
  const definitions = fieldsOf(openApi["definitions"]);
  mkdirSync(folder, { recursive: true });
  for (const [root, definition] of Object.entries(definitions)) {
    for (const kind of mappingsOf(fieldsOf(definition)["x-kubernetes-group-version-kind"])) {
      const [group = ""] = String(kind["group"]).split(".");
      const suffix = [group, String(kind["version"])].filter((part) => part !== "").join("-");
      const schema = { $ref: REFERENCE + root, definitions: reachable(definitions, root) };
      const name = `${String(kind["kind"])}-${suffix}.json`.toLowerCase();
      writeFileSync(join(folder, name), JSON.stringify(schema));
    }
  }
}

/** The definition and those that it refers to. */
function reachable(definitions: Mapping, root: string): Mapping {
  const found = new Map<string, unknown>();
  const open = [root];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    const definition = strict(definitions[name]);
    found.set(name, definition);
    for (const [, reference = ""] of JSON.stringify(definition).matchAll(/"#\/definitions\/([^"]+)"/g))
      open.push(reference);
  }
  return Object.fromEntries(found);
}

/** The schema with what OpenAPI 2 cannot say: texts that may be numbers, and no further fields. */
function strict(schema: unknown): unknown {
  const fields = mappingOf(schema);
  if (fields === undefined) return schema;
  // Formats such as byte and int64 are OpenAPI's own.
  const { format, properties, items, additionalProperties, ...rest } = fields;
  const isNumberToo = format === "int-or-string" || fields["x-kubernetes-int-or-string"] === true;
  const isClosed = additionalProperties === undefined && fields["x-kubernetes-preserve-unknown-fields"] !== true;
  return {
    ...rest,
    ...(isNumberToo ? { type: ["string", "integer"] } : {}),
    ...(items === undefined ? {} : { items: strict(items) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: strict(additionalProperties) }),
    ...(properties === undefined ? {} : { properties: strictProperties(fieldsOf(properties)) }),
    ...(properties !== undefined && isClosed ? { additionalProperties: false } : {}),
  };
}

function strictProperties(properties: Mapping): Mapping {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, strict(schema)]));
}
