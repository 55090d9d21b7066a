// Makes the schemas that kubeconform reads from what an API server publishes, strict: no field that it does not list.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf, type Mapping, mappingOf, mappingsOf } from "@weir/kubernetes/mapping";

/** Where kubeconform finds the schema of a kind below the folder. */
export const SCHEMA_LOCATION = "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json";

/** The prefix of references between definitions. */
const REFERENCE = "#/definitions/";

/** Writes a schema for each kind of `openApi`, the document of /openapi/v2, below `folder`. */
export function writeSchemas(openApi: Mapping, folder: string): void {
  const definitions = fieldsOf(openApi["definitions"]);
  for (const [name, definition] of Object.entries(definitions)) {
    for (const kind of mappingsOf(fieldsOf(definition)["x-kubernetes-group-version-kind"])) {
      const path = join(folder, String(kind["group"]));
      mkdirSync(path, { recursive: true });
      const schema = { $ref: REFERENCE + name, definitions: reachable(definitions, name) };
      writeFileSync(
        join(path, `${String(kind["kind"]).toLowerCase()}_${String(kind["version"])}.json`),
        JSON.stringify(schema),
      );
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
  if (Array.isArray(schema)) return schema.map(strict);
  const fields = mappingOf(schema);
  if (fields === undefined) return schema;
  const { type, format, ...rest } = fields;
  if (type === "string" && format === "int-or-string") return { ...rest, type: ["string", "integer"] };
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, key === "default" ? value : strict(value)]),
  );
  const isClosed =
    mappingOf(fields["properties"]) !== undefined &&
    fields["additionalProperties"] === undefined &&
    fields["x-kubernetes-preserve-unknown-fields"] !== true;
  // Formats such as byte and int64 are OpenAPI's own.
  return {
    ...inner,
    ...(typeof type === "string" ? { type } : {}),
    ...(isClosed ? { additionalProperties: false } : {}),
  };
}
