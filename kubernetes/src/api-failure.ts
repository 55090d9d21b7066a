// What can go wrong with a request to the API server, in words that say what to do, and what the
// reflector should make of it. Pure.
import { describeError, ServiceError } from "@weir/common/errors/service-error";

import { type ApiResource, type ApiVerb, describeResource } from "./api-resource.ts";

/** Longest wait that a server may ask for, in milliseconds: it may be wrong, or not ours. */
const RETRY_AFTER_MAX_MS = 60_000;

/** Longest text of a server that is quoted, in characters. */
const QUOTE_LENGTH_MAX = 500;

/**
 * What became of a request: `unreachable` was not answered, or not to the end; `unavailable` was
 * answered, and may work later; `expired`: the resource version is too old (or unknown), only a new
 * list helps; `refused`: somebody must change something first; `unauthorized`: the credentials are
 * not (or no longer) good; `broken`: the answer makes no sense; `too-large`: it is longer than what
 * is read.
 */
export type FailureKind =
  "unreachable" | "unavailable" | "expired" | "refused" | "unauthorized" | "broken" | "too-large";

/** A request that failed. */
export class ApiFailure extends ServiceError<"SOURCE_UNREADABLE"> {
  override readonly name = "ApiFailure";
  readonly kind: FailureKind;
  /**
   * The message without what was asked for: the same for all requests that fail for the same
   * reason.
   */
  readonly reason: string;
  /** How long the server wants to be left alone, in milliseconds; 0 when it did not say. */
  readonly retryAfterMs: number;

  constructor(
    kind: FailureKind,
    { verb, resource }: ApiRequest,
    reason: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {},
  ) {
    super("SOURCE_UNREADABLE", `Cannot ${verb} ${describeResource(resource)}: ${reason}`, {
      cause: options.cause,
      transient: true,
    });
    this.kind = kind;
    this.reason = reason;
    this.retryAfterMs = Math.min(options.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS);
  }
}

/** What was asked for. */
export interface ApiRequest {
  readonly verb: ApiVerb;
  readonly resource: ApiResource;
}

/**
 * An answer that is an error: the HTTP status, and what the server said in its Status object, as
 * far as there is one.
 */
export interface ErrorAnswer {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Milliseconds; 0 when the server names no time. */
  readonly retryAfterMs: number;
  readonly causes: readonly string[];
}

/** The failure that an error answer stands for. */
export function failureOfAnswer(request: ApiRequest, answer: ErrorAnswer): ApiFailure {
  const said = answer.message === "" ? `HTTP status ${answer.code}` : `"${answer.message.slice(0, QUOTE_LENGTH_MAX)}"`;
  const options = { retryAfterMs: answer.retryAfterMs };
  if (answer.code === 410 || answer.reason === "Expired" || answer.reason === "Gone" || isVersionUnknown(answer)) {
    return new ApiFailure(
      "expired",
      request,
      `the resource version is not available any more, the server says ${said}`,
      options,
    );
  }
  switch (answer.code) {
    case 401:
      return new ApiFailure(
        "unauthorized",
        request,
        `the credentials are not accepted, the server says ${said}`,
        options,
      );
    case 403:
      return new ApiFailure("refused", request, `${missingRight(request)}; the server says ${said}`, options);
    case 404:
      return new ApiFailure("refused", request, `${missingKind(request.resource)}; the server says ${said}`, options);
    case 408:
    case 429:
      return new ApiFailure("unavailable", request, `the server is busy, it says ${said}`, options);
    default:
      return new ApiFailure(
        answer.code >= 500 ? "unavailable" : "refused",
        request,
        `the server says ${said}`,
        options,
      );
  }
}

/** The failure of a connection: refused, cut, not trusted, silent. */
export function failureOfConnection(request: ApiRequest, server: string, cause: unknown): ApiFailure {
  if (cause instanceof ApiFailure) return cause;
  return new ApiFailure("unreachable", request, `no answer from ${server}: ${describeError(cause)}`, { cause });
}

/**
 * The failure to find out who we are: a token or a certificate that cannot be read, a program that
 * fails.
 */
export function failureOfCredentials(request: ApiRequest, cause: unknown): ApiFailure {
  return new ApiFailure("unreachable", request, `there are no credentials: ${describeError(cause)}`, { cause });
}

/** The failure of an answer that cannot be understood, or is too large. */
export function failureOfContent(
  request: ApiRequest,
  problem: string,
  kind: "broken" | "too-large" = "broken",
): ApiFailure {
  return new ApiFailure(kind, request, problem);
}

/** What a Status object says; `fallbackCode` is the HTTP status, for a body that says nothing. */
export function errorAnswerOf(status: unknown, fallbackCode: number, retryAfterMs = 0): ErrorAnswer {
  const fields = mappingOf(status);
  const details = mappingOf(fields["details"]);
  const seconds = details["retryAfterSeconds"];
  const causes: unknown = details["causes"];
  return {
    code: typeof fields["code"] === "number" ? fields["code"] : fallbackCode,
    reason: textOf(fields["reason"]),
    message: textOf(fields["message"]),
    retryAfterMs: typeof seconds === "number" && seconds > 0 ? Math.max(retryAfterMs, seconds * 1000) : retryAfterMs,
    causes: Array.isArray(causes) ? causes.map((cause) => textOf(mappingOf(cause)["reason"])) : [],
  };
}

/**
 * After a restore from a backup the server may not have got to the version that it is asked for,
 * and never will.
 */
function isVersionUnknown(answer: ErrorAnswer): boolean {
  return answer.causes.includes("ResourceVersionTooLarge") || answer.message.includes("Too large resource version");
}

function missingRight({ verb, resource }: ApiRequest): string {
  const group = resource.group === "" ? "the core API group" : `API group ${resource.group}`;
  const where = resource.namespace === undefined ? "in the whole cluster" : `in namespace ${resource.namespace}`;
  return `this account lacks the verb "${verb}" on "${resource.plural}" of ${group} ${where}, grant it with a role`;
}

function missingKind(resource: ApiResource): string {
  const kind = `${resource.plural}.${resource.group}`;
  if (resource.group === "") return "the address is not that of a Kubernetes API server";
  return `the CustomResourceDefinition ${kind} is not installed in version ${resource.version}, install it with kubectl apply --server-side -f ${resource.plural}.yaml`;
}

function mappingOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
