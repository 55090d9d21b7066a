// Writes account/openapi.json and docs/account-api.md: the calls of the account service, from the schemas of its
// requests and answers. Run with --conditions=source; --check compares only.
import { pathToFileURL } from "node:url";
import { format } from "prettier";
import { emitPage, emitText, inlineCode, markdownTable } from "./generated-page.ts";

const DOCUMENT = "account/openapi.json";
const PAGE = "docs/account-api.md";

/** The origin of the curl commands. */
const ORIGIN = "http://localhost:8000";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly const?: string;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<
      string,
      { readonly content: Readonly<Record<string, { readonly schema: Schema }>>; readonly headers: object }
    >
  >;
}

interface Document {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, { readonly name: string }>>;
  };
}

const ROOT = process.cwd();
const { CALL_ERRORS, FIELD_ERRORS } = (await load("account/src/errors.ts")) as Readonly<
  Record<string, Readonly<Record<string, { readonly meaning: string; readonly remedy: string }>>>
>;
const { openApiDocument } = (await load("account/src/api/openapi.ts")) as { readonly openApiDocument: () => Document };

/** The page of the document. */
function formatApi(document: Document): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const index = operations.map(({ path, method, operation }) => [
    `[${inlineCode(`${method} ${path}`)}](#${operation.operationId.toLowerCase()})`,
    operation.summary,
  ]);
  const sections = document.tags.flatMap(({ name, description }) => [
    `## ${name}`,
    description,
    ...operations
      .filter(({ operation }) => operation.tags.includes(name))
      .flatMap(({ path, method, operation }) => formatOperation(path, method, operation, document)),
  ]);
  return [
    "# Account API",
    "<!-- make generate writes this page. -->",
    '<!-- all sh blocks run by: account/src/api-page.system.test.ts, "$name is answered as the page says" -->',
    "The calls of the [account service](account.md). The service serves the same as OpenAPI 3.1 under `/openapi.json`; a copy is in [account/openapi.json](../account/openapi.json).",
    document.info.description,
    "The commands keep the cookies in `cookies.txt`, as a browser keeps them.",
    markdownTable(["Call", "Does"], index),
    ...sections,
    "## Objects",
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) => [
      `### ${name}`,
      schema.description ?? "",
      fieldTable(schema),
    ]),
    "## Codes of fields",
    "The `code` of an entry of `errors` is one of these, or that of the whole error.",
    markdownTable(
      ["Code", "What it means", "What to do"],
      Object.entries(FIELD_ERRORS ?? {}).map(([code, { meaning, remedy }]) => [inlineCode(code), meaning, remedy]),
    ),
  ].join("\n\n");
}

function formatOperation(path: string, method: string, operation: Operation, document: Document): readonly string[] {
  const { operationId, description, security, requestBody, responses } = operation;
  const cookies = security.flatMap((each) => Object.keys(each));
  const schemes = document.components.securitySchemes;
  const needs = cookies.map((name) => `Needs the cookie ${inlineCode(schemes[name]?.name ?? name)}.`);
  const [mediaType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const [status = "", success] = Object.entries(responses).find(([each]) => each.startsWith("2")) ?? [];
  const sets = success !== undefined && "Set-Cookie" in success.headers;
  return [
    `### ${operationId}`,
    inlineCode(`${method} ${path}`),
    [operation.summary === description ? "" : (description ?? `${operation.summary}.`), ...needs].join(" ").trim(),
    ...(body === undefined ? [] : [`Body, ${inlineCode(mediaType ?? "")}:`, fieldTable(body.schema)]),
    ["```sh", ...curlOf(path, method, operation), "```"].join("\n"),
    `Answers ${status}${sets ? ", and sets or clears the cookies of the session" : ""}:`,
    fieldTable(success?.content["application/json"]?.schema ?? {}),
    ...errorTable(operation),
  ];
}

function fieldTable(schema: Schema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    inlineCode(name) + (schema.required?.includes(name) === true ? "" : ", optional"),
    typeOf(field),
    field.description ?? "",
  ]);
  return rows.length === 0 ? "An object." : markdownTable(["Field", "Type", "Is"], rows);
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return inlineCode(JSON.stringify(schema.const));
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.format === "binary") return "file";
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  return types.map((type) => schema.format ?? type).join(" or ");
}

/** The codes of errors by status, and those of fields. */
function errorTable({ responses }: Operation): readonly string[] {
  const rows: string[][] = [];
  const fields = new Map<string, Set<string>>();
  for (const [status, { content }] of Object.entries(responses)) {
    const [, narrow] = content["application/json"]?.schema.allOf ?? [];
    for (const code of narrow?.properties?.["code"]?.enum ?? [])
      rows.push([status, inlineCode(code), CALL_ERRORS?.[code]?.meaning ?? ""]);
    const items = narrow?.properties?.["errors"]?.items;
    for (const each of items?.anyOf ?? (items === undefined ? [] : [items])) {
      const codes = fields.get(each.properties?.["field"]?.const ?? "") ?? new Set();
      for (const code of each.properties?.["code"]?.enum ?? []) codes.add(code);
      fields.set(each.properties?.["field"]?.const ?? "", codes);
    }
  }
  const ofFields = [...fields].map(([field, codes]) => [inlineCode(field), [...codes].map(inlineCode).join(", ")]);
  return [
    ...(rows.length === 0 ? [] : ["Errors:", markdownTable(["Status", "Code", "When"], rows)]),
    ...(ofFields.length === 0 ? [] : ["Codes of fields:", markdownTable(["Field", "Codes"], ofFields)]),
  ];
}

/** The lines of a command that makes the call. */
function curlOf(path: string, method: string, { requestBody, parameters }: Operation): readonly string[] {
  const [mediaType, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const fields = Object.entries(body?.schema.properties ?? {}).map(
    ([name, field]) => [name, field.examples?.[0] ?? field.anyOf?.[0]?.examples?.[0]] as const,
  );
  const options =
    mediaType === "multipart/form-data"
      ? fields.map(([name, value]) => `-F '${name}=${typeof value === "string" ? value : "@avatar.png"}'`)
      : mediaType === undefined
        ? []
        : [`-H 'Content-Type: ${mediaType}'`, `-d '${JSON.stringify(Object.fromEntries(fields))}'`];
  const isPlain = method === "GET" || (method === "POST" && options.length > 0);
  const url = `${ORIGIN}${path.replace(/\{\w+\}/, '"$SESSION"')}`;
  const find = `SESSION=$(curl -sS -b cookies.txt ${ORIGIN}/api/v1/user/sessions | grep -o '"id":"[^"]*' | head -n 1 | cut -d '"' -f 4)`;
  const first = `curl -sS -b cookies.txt -c cookies.txt${isPlain ? "" : ` -X ${method}`} ${url}`;
  const lines = [first, ...options].map((line, at) => (at === 0 ? line : `  ${line}`));
  return [...(parameters === undefined ? [] : [find]), lines.join(" \\\n")];
}

async function load(path: string): Promise<unknown> {
  return await import(pathToFileURL(`${ROOT}/${path}`).href);
}

const document = openApiDocument();
emitText(DOCUMENT, await format(JSON.stringify(document), { parser: "json", printWidth: 120 }));
await emitPage(PAGE, formatApi(document));
