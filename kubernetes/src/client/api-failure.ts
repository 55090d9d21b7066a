// A request to the API server that failed: why, in words that say what to do, and the kind that tells
// the reflector how to continue.
import { describeError, ServiceError } from "@weir/common/errors/service-error";

import { fieldsOf, mappingsOf, textOf } from "../mapping.ts";
import { type ApiResource, type ApiVerb, describeResource } from "./api-resource.ts";

/** Longest wait that a server may ask for, in milliseconds: the server may be wrong. */
const RETRY_AFTER_MAX_MS = 60_000;

/** Longest text of a server that a message quotes, in characters. */
const QUOTE_LENGTH_MAX = 500;

/**
 * How a request failed. `unreachable`: no answer, or no complete one; `unavailable`: an answer that
 * may be better later; `expired`: the resource version is too old (or unknown), only a new list
 * helps; `refused`: a person must change something first; `unauthorized`: the credentials are not
 * valid; `broken`: the answer cannot be understood; `too-large`: the answer is longer than the limit.
 */
export type FailureKind =
  "unreachable" | "unavailable" | "expired" | "refused" | "unauthorized" | "broken" | "too-large";

/** A verb on a resource. */
export interface ApiRequest {
  readonly verb: ApiVerb;
  readonly resource: ApiResource;
}

/** A request that failed. */
export class ApiFailure extends ServiceError<"SOURCE_UNREADABLE"> {
  override readonly name = "ApiFailure";
  readonly kind: FailureKind;
  /** The message without the request: the same for all requests that fail for the same reason. */
  readonly reason: string;
  /** How long the server asks to wait, in milliseconds; 0 when it did not ask. */
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

/** An answer that is an error: the HTTP status, and the Status object if there is one. */
export interface ErrorAnswer {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Milliseconds; 0 when the server names no time. */
  readonly retryAfterMs: number;
  readonly causes: readonly string[];
}

/** Reads a Status object; `fallbackCode` is the HTTP status, for a body that is no Status. */
export function errorAnswerOf(status: unknown, fallbackCode: number, retryAfterMs = 0): ErrorAnswer {
  const { code, reason, message, details } = fieldsOf(status);
  const { retryAfterSeconds, causes } = fieldsOf(details);
  const seconds = typeof retryAfterSeconds === "number" ? retryAfterSeconds : 0;
  return {
    code: typeof code === "number" ? code : fallbackCode,
    reason: textOf(reason) ?? "",
    message: textOf(message) ?? "",
    retryAfterMs: Math.max(retryAfterMs, seconds * 1000),
    causes: mappingsOf(causes).map((cause) => textOf(cause["reason"]) ?? ""),
  };
}

/** The failure that an error answer means. */
export function failureOfAnswer(request: ApiRequest, answer: ErrorAnswer): ApiFailure {
  const said = answer.message === "" ? `HTTP status ${answer.code}` : `"${answer.message.slice(0, QUOTE_LENGTH_MAX)}"`;
  const failure = (kind: FailureKind, reason: string): ApiFailure =>
    new ApiFailure(kind, request, reason, { retryAfterMs: answer.retryAfterMs });
  if (answer.code === 410 || answer.reason === "Expired" || answer.reason === "Gone" || isVersionUnknown(answer))
    return failure("expired", `the resource version is not available any more, the server says ${said}`);
  switch (answer.code) {
    case 401:
      return failure("unauthorized", `the credentials are not accepted, the server says ${said}`);
    case 403:
      return failure("refused", `${missingRight(request)}; the server says ${said}`);
    case 404:
      return failure("refused", `${missingKind(request.resource)}; the server says ${said}`);
    case 408:
    case 429:
      return failure("unavailable", `the server is busy, it says ${said}`);
    default:
      return failure(answer.code >= 500 ? "unavailable" : "refused", `the server says ${said}`);
  }
}

/** The failure of a connection: refused, cut, not trusted, silent. An ApiFailure stays as it is. */
export function failureOfConnection(request: ApiRequest, server: string, cause: unknown): ApiFailure {
  if (cause instanceof ApiFailure) return cause;
  return new ApiFailure("unreachable", request, `no answer from ${server}: ${describeError(cause)}`, { cause });
}

/** After a restore from a backup the server may not have reached the requested version again. */
function isVersionUnknown(answer: ErrorAnswer): boolean {
  return answer.causes.includes("ResourceVersionTooLarge") || answer.message.includes("Too large resource version");
}

function missingRight({ verb, resource }: ApiRequest): string {
  const group = resource.group === "" ? "the core API group" : `API group ${resource.group}`;
  const where = resource.namespace === undefined ? "in the whole cluster" : `in namespace ${resource.namespace}`;
  return `this account lacks the verb "${verb}" on "${resource.plural}" of ${group} ${where}, grant it with a role`;
}

function missingKind({ group, version, plural }: ApiResource): string {
  if (group === "") return "the address is not that of a Kubernetes API server";
  return `the CustomResourceDefinition ${plural}.${group} is not installed in version ${version}, install it with kubectl apply --server-side -f ${plural}.yaml`;
}
