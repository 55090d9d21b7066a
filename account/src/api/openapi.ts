// The OpenAPI 3.1 document of the API, from the schemas of requests and answers.
import { z } from "zod";
import { CALL_ERRORS, type CallErrorCode } from "../errors.ts";
import { cookieName } from "../sessions/cookies.ts";
import { KEY_SET } from "../sessions/key-set.ts";
import { PUBLIC_USER } from "../users/public-user.ts";
import { PUBLIC_SESSION } from "../users/session-calls.ts";
import { type CallDescription, CALLS, errorsOf } from "./calls.ts";
import { ERROR_BODY, ERROR_STATUS, PROBLEM_BODY } from "./error-status.ts";
import { ACCOUNT_ROUTES, type AccountRoute, type CallName, KEY_SET_PATH } from "./routes.ts";

/** A part of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** Names of cookies in the document are those of the defaults. */
const DEFAULT_COOKIES = { scope: "host", sameSite: "strict", insecureDevelopment: false } as const;

/** Schemas with a name of their own. */
const NAMED = { User: PUBLIC_USER, Session: PUBLIC_SESSION, KeySet: KEY_SET, Error: ERROR_BODY, Problem: PROBLEM_BODY };

const TAGS = [
  { name: "Account", description: "The account itself." },
  { name: "Sessions", description: "Signing in and out, on this device and others." },
  { name: "Profile", description: "What users change about themselves." },
  { name: "Mail", description: "Calls that need mail. With MAIL=off they answer 404." },
  { name: "Service", description: "The service itself." },
];

/** Builds the document. */
export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const [name, { method, path }] of Object.entries(ACCOUNT_ROUTES) as [CallName, AccountRoute][])
    (paths[path.replace(/:(\w+)/g, "{$1}")] ??= {})[method] = operationOf(name);
  return {
    openapi: "3.1.1",
    info: {
      title: "Weir account service",
      version: "1",
      summary: "Accounts and sessions for browsers.",
      description:
        'Browsers send two cookies that scripts cannot read: call with `credentials: "include"`. An error has the same body everywhere, also as `application/problem+json` for clients that accept it.',
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    paths: { ...paths, ...servicePaths() },
    components: {
      schemas: namedSchemas(),
      headers: HEADERS,
      securitySchemes: {
        access: { type: "apiKey", in: "cookie", name: cookieName("access", DEFAULT_COOKIES) },
        refresh: { type: "apiKey", in: "cookie", name: cookieName("refresh", DEFAULT_COOKIES) },
      },
    },
  };
}

/** The codes whose errors name fields. */
const OF_FIELDS: ReadonlySet<CallErrorCode> = new Set([
  ...(["validation_failed", "duplicate_field", "email_taken", "invalid_credentials", "link_invalid"] as const),
  ...(["avatar_invalid", "avatar_type", "avatar_too_large"] as const),
]);

const HEADERS = {
  RequestId: { description: "Id of the call in the log.", schema: { type: "string" } },
  RetryAfter: { description: "Whole seconds after which the call may be repeated.", schema: { type: "integer" } },
  SetCookie: { description: "The cookies of the session, set or cleared.", schema: { type: "string" } },
};

function operationOf(name: CallName): Json {
  const { path, body: kind }: AccountRoute = ACCOUNT_ROUTES[name];
  const { tag, summary, description, needs, body } = CALLS[name];
  const parameters = [...path.matchAll(/:(\w+)/g)].map(([, parameter]) => ({
    ...{ name: parameter, in: "path", required: true },
    description: "Id of a session, from the list of sessions.",
    schema: { type: "string" },
  }));
  return {
    ...{ operationId: name, tags: [tag], summary, description },
    security: needs === undefined ? [] : [{ [needs]: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body, kind) } }),
    responses: { ...successOf(CALLS[name]), ...failuresOf(name) },
  };
}

function contentOf(body: z.ZodType, kind: AccountRoute["body"]): Json {
  const schema = schemaOf(body, "input");
  if (kind === "json") return { "application/json": { schema } };
  return {
    "multipart/form-data": { schema, encoding: { avatar: { contentType: "image/png, image/jpeg, image/webp" } } },
  };
}

function successOf({ status, answer, cookies }: CallDescription): Json {
  return {
    [status]: {
      description: status === 201 ? "Created." : "Done.",
      headers: { ...header("X-Request-Id", "RequestId"), ...(cookies && header("Set-Cookie", "SetCookie")) },
      content: { "application/json": { schema: schemaOf(answer, "output") } },
    },
  };
}

/** The error answers of a call, by status; each names its codes, and the fields that it may be about. */
function failuresOf(name: CallName): Json {
  const byStatus = Map.groupBy(errorsOf(name), (code) => ERROR_STATUS[code]);
  const { fields = {} } = CALLS[name];
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, failureOf(codes, status, fields)]));
}

function failureOf(codes: readonly CallErrorCode[], status: number, fields: CallDescription["fields"] & object): Json {
  const items = Object.entries(fields).map(([field, fieldCodes]) => ({
    properties: { field: { const: field }, code: { enum: [...new Set(fieldCodes)] } },
  }));
  const isAboutFields = items.length > 0 && codes.some((code) => OF_FIELDS.has(code));
  const errors = !isAboutFields ? { maxItems: 0 } : { items: items.length === 1 ? items[0] : { anyOf: items } };
  const narrow = { properties: { code: { enum: codes }, status: { const: status }, errors } };
  return {
    description: codes.map((code) => `- \`${code}\`: ${CALL_ERRORS[code].meaning}`).join("\n"),
    headers: {
      ...header("X-Request-Id", "RequestId"),
      ...([429, 503].includes(status) && header("Retry-After", "RetryAfter")),
    },
    content: {
      "application/json": { schema: { allOf: [reference("Error"), narrow] } },
      "application/problem+json": { schema: reference("Problem") },
    },
  };
}

/** The paths that no page calls. */
function servicePaths(): Json {
  const failed = { 400: failureOf(["malformed_request"], 400, {}) };
  const probe = (operationId: string, summary: string, status: string): Json => ({
    ...{ operationId, tags: ["Service"], summary, security: [] },
    responses: {
      ...failed,
      200: answerOf("It does.", { type: "object", required: ["status"], properties: { status: { const: status } } }),
      ...(operationId === "readiness" && {
        503: answerOf("It does not.", {
          type: "object",
          required: ["status", "message"],
          properties: { status: { const: "not ready" }, message: { type: "string" } },
        }),
      }),
    },
  });
  return {
    "/healthz": { get: probe("health", "Whether the process works", "alive") },
    "/readyz": { get: probe("readiness", "Whether the service wants traffic", "ready") },
    [KEY_SET_PATH]: {
      get: {
        ...{ operationId: "keySet", tags: ["Service"], summary: "The public keys of access tokens", security: [] },
        description: "Readers may keep it for five minutes.",
        responses: { ...failed, 200: answerOf("The keys.", reference("KeySet")) },
      },
    },
    "/openapi.json": {
      get: {
        ...{ operationId: "openApi", tags: ["Service"], summary: "This document", security: [] },
        responses: { ...failed, 200: answerOf("The document.", { type: "object" }) },
      },
    },
  };
}

function answerOf(description: string, schema: Json): Json {
  return {
    description,
    headers: header("X-Request-Id", "RequestId"),
    content: { "application/json": { schema } },
  };
}

function header(name: string, component: keyof typeof HEADERS): Json {
  return { [name]: { $ref: `#/components/headers/${component}` } };
}

function reference(name: keyof typeof NAMED): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function namedSchemas(): Json {
  return Object.fromEntries(
    Object.entries(NAMED).map(([name, schema]) => [name, convert(schema, "output").named[name]]),
  );
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  return convert(schema, io).schema;
}

/** A schema for the document, in which those with a name are references, and the named ones. */
function convert(schema: z.ZodType, io: "input" | "output"): { schema: Json; named: Readonly<Record<string, Json>> } {
  const json = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      delete jsonSchema.id;
      // The pattern that zod writes next to a format says the same at length.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  const text = JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $schema: _dialect, $defs: named = {}, ...rest } = JSON.parse(text) as Json & { $defs?: Record<string, Json> };
  return { schema: rest, named };
}
