// Writes the types and routes of the browser client from account/openapi.json. --check compares only.
import { readFileSync } from "node:fs";
import { emitPage } from "./generated-page.ts";

const DOCUMENT = "account/openapi.json";
const OUT = "account/src/client/generated/calls.ts";

/** The beginning of the paths of all calls; the client adds it. */
const PREFIX = "/api/v1/user/";

/** Schemas with a name in the client, and that name. */
const NAMED = { User: "User", Session: "Session", Error: "ErrorBody" } as const;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
}

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

const { paths, components } = JSON.parse(readFileSync(DOCUMENT, "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

const calls = Object.entries(paths)
  .filter(([path]) => path.startsWith(PREFIX))
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => describeCall(path.slice(PREFIX.length), method, operation)),
  );
const named = Object.entries(NAMED).map(
  ([name, exported]) => `${comment(schemaOf(name))}export interface ${exported} ${typeOf(schemaOf(name))}`,
);

await emitPage(
  OUT,
  [
    "// The calls of the account service for the browser client. make generate writes this file from account/openapi.json.",
    ...named,
    `/** Input and answer of each call. */\nexport interface Calls {\n${calls.map(({ type }) => type).join("\n")}\n}`,
    `/** Method, path and kind of input of each call. */\nexport const ROUTES = {\n${calls.map(({ route }) => route).join("\n")}\n} as const;`,
  ].join("\n\n"),
);

/** A call as a property of `Calls`, and one of `ROUTES`. */
function describeCall(
  path: string,
  method: string,
  operation: Operation,
): { readonly type: string; readonly route: string } {
  const { operationId: name, description, requestBody, responses } = operation;
  const [status = ""] = Object.keys(responses).filter((each) => each < "300");
  const [content] = Object.entries(requestBody?.content ?? {});
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => `readonly ${parameter ?? ""}: string;`);
  const { input, kind } = inputOf(content, parameters);
  const answer = responses[status]?.content["application/json"]?.schema ?? {};
  return {
    type: `${comment({ description })}readonly ${name}: { readonly input: ${input}; readonly answer: ${typeOf(answer)} };`,
    route: `${name}: ["${method.toUpperCase()}", "${path}", "${kind}"],`,
  };
}

/** Returns the type and the kind of a call's input: the fields of its body, the parameters of its path, or nothing. */
function inputOf(
  content: readonly [string, { readonly schema: Schema }] | undefined,
  parameters: readonly string[],
): { readonly input: string; readonly kind: "json" | "form" | "path" | "none" } {
  if (content !== undefined) {
    const [mediaType, { schema }] = content;
    return { input: typeOf(schema), kind: mediaType === "application/json" ? "json" : "form" };
  }
  return parameters.length === 0
    ? { input: "undefined", kind: "none" }
    : { input: `{ ${parameters.join(" ")} }`, kind: "path" };
}

/** The TypeScript type of a schema. Throws for one of a kind that the document did not have before. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return NAMED[(schema.$ref.split("/").at(-1) ?? "") as keyof typeof NAMED];
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => typeOf({ ...schema, type })).join(" | ");
  if (schema.format === "binary") return "Blob";
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
      return "number";
    case "array":
      return `readonly (${typeOf(schema.items ?? {})})[]`;
    case "object":
      return `{ ${Object.entries(schema.properties ?? {})
        .map(([name, property]) => {
          const isRequired = schema.required?.includes(name) === true;
          const type = isRequired ? `: ${typeOf(property)}` : `?: ${typeOf(property)} | undefined`;
          return `${comment(property)}readonly ${name}${type};`;
        })
        .join("\n")} }`;
    default:
      throw new Error(`Cannot write the type of ${JSON.stringify(schema)}: it is of no kind that this program knows`);
  }
}

function schemaOf(name: string): Schema {
  const schema = components.schemas[name];
  if (schema === undefined) throw new Error(`Cannot write the type of ${name}: ${DOCUMENT} has no such schema`);
  return schema;
}

function comment({ description }: Pick<Schema, "description">): string {
  return description === undefined ? "" : `/** ${description} */\n`;
}
