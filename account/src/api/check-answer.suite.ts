// Holds answers of the service against the OpenAPI document, with a validator of others.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { openApiDocument } from "./openapi.ts";

/** The parts of the document that are looked at. */
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >;
}
interface Response {
  readonly content: Readonly<Record<string, unknown>>;
}

/** An answer to a request. */
export interface AnswerToCheck {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The media type, without parameters. */
  readonly mediaType: string;
  readonly requestId: string | undefined;
  readonly body: unknown;
}

const FORMATS = {
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  uri: (text: string) => URL.canParse(text),
  binary: true,
} as const;

const DOCUMENT = openApiDocument() as unknown as Document;
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
ajv.addSchema(DOCUMENT, "document");
const validators = new Map<string, ValidateFunction>();

/** Throws when an answer to a documented call is not as the document has it, or another error has no such body. */
export function checkAnswer(answer: AnswerToCheck): void {
  const { method, path, status, mediaType } = answer;
  if (["HEAD", "OPTIONS"].includes(method)) return;
  const [template, operations] = Object.entries(DOCUMENT.paths).find(([each]) => matches(each, path)) ?? [];
  const operation = operations?.[method.toLowerCase()];
  if (template === undefined || operation === undefined) {
    if (status >= 400 && mediaType.endsWith("json")) check(answer, componentOf(mediaType));
    return;
  }
  const content = operation.responses[status]?.content;
  if (content?.[mediaType] === undefined)
    throw new Error(`the document has no answer ${status} of ${mediaType} to ${method} ${template}: ${text(answer)}`);
  if (answer.requestId === undefined) throw new Error(`the answer to ${method} ${template} has no X-Request-Id`);
  check(
    answer,
    pointer("paths", template, method.toLowerCase(), "responses", String(status), "content", mediaType, "schema"),
  );
}

function componentOf(mediaType: string): string {
  return pointer("components", "schemas", mediaType === "application/json" ? "Error" : "Problem");
}

function check(answer: AnswerToCheck, schema: string): void {
  const validate = validators.get(schema) ?? ajv.compile({ $ref: `document#${schema}` });
  validators.set(schema, validate);
  if (validate(answer.body)) return;
  const reasons = ajv.errorsText(validate.errors);
  throw new Error(`the answer is not as the document has it at ${schema}: ${reasons}: ${text(answer)}`);
}

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);
}

function pointer(...keys: readonly string[]): string {
  return keys.map((key) => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");
}

function text({ body }: AnswerToCheck): string {
  return JSON.stringify(body);
}
