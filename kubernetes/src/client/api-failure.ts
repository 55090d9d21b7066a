// A request to the API server that failed: why, in words that say what to do, and the kind that tells
// the reflector how to continue.
import { describeError, ServiceError } from "@weir/common/errors/service-error";

import { fieldsOf, type Mapping, mappingsOf, textOf } from "../mapping.ts";
import { type ApiResource, type ApiVerb, describeResource } from "./api-resource.ts";

/** Longest wait that a server may ask for, in milliseconds: the server may be wrong. */
const RETRY_AFTER_MAX_MS = 60_000;

/**
 * Longest wait before a request is sent again that lacked a right, in milliseconds: a right that is granted takes
 * effect within 15 s.
 */
export const FORBIDDEN_WAIT_MAX_MS = 10_000;

/**
 * Matches the answer of every API server of Kubernetes when the account lacks a right, whatever its authorizer is
 * (https://github.com/kubernetes/apiserver/blob/v0.33.0/pkg/endpoints/handlers/responsewriters/errors.go). It has the
 * same code and reason as refusals by a quota or an admission plugin. The part that is captured names no object.
 */
const LACKING_RIGHT = /^(?:\S+ (?:"[^"]*" )?is )?forbidden: (User "(?:[^"\\]|\\.)*" cannot .*)/s;

/**
 * Part of the answer of the admission plugin OwnerReferencesPermissionEnforcement when the account lacks a right on
 * the owner.
 */
const LACKING_FINALIZERS = "cannot set blockOwnerDeletion";

/** Longest text of a server that a message quotes, in characters. */
const QUOTE_LENGTH_MAX = 500;

/**
 * How a request failed. `unreachable`: no answer, or no complete one; `unavailable`: an answer that
 * may be better later; `expired`: the resource version is too old (or unknown), only a new list
 * helps; `conflict`: the object is not as the request expects, or exists already; `absent`: there is no
 * such object; `forbidden`: the account lacks a right; `refused`: a person must change something else
 * first, such as a quota; `unauthorized`: the credentials are not valid; `broken`: the answer cannot be
 * understood; `too-large`: the answer is longer than the limit.
 */
export type FailureKind =
  | "unreachable"
  | "unavailable"
  | "expired"
  | "conflict"
  | "absent"
  | "forbidden"
  | "refused"
  | "unauthorized"
  | "broken"
  | "too-large";

/** Verbs that change nothing. */
const READS: ReadonlySet<ApiVerb> = new Set(["list", "watch", "get"]);
/** Texts of a server error that means an object which etcd, or the request to it, has no room for. */
const TOO_LARGE_FOR_ETCD = ["etcdserver: request is too large", "trying to send message larger than max"];

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
  /** True if the server does not serve resources of this kind. */
  readonly isKindMissing: boolean;
  /** True if the server will never take the object as it was sent: it is not valid, or too large. */
  readonly isContentRefused: boolean;
  /** How long the server asks to wait, in milliseconds; 0 when it did not ask. */
  readonly retryAfterMs: number;

  constructor(
    kind: FailureKind,
    { verb, resource }: ApiRequest,
    reason: string,
    options: {
      readonly cause?: unknown;
      readonly retryAfterMs?: number;
      readonly isKindMissing?: boolean;
      readonly isContentRefused?: boolean;
    } = {},
  ) {
    super("SOURCE_UNREADABLE", `Cannot ${verb} ${describeResource(resource)}: ${reason}`, {
      cause: options.cause,
      transient: true,
    });
    this.kind = kind;
    this.reason = reason;
    this.isKindMissing = options.isKindMissing ?? false;
    this.isContentRefused = options.isContentRefused ?? false;
    this.retryAfterMs = Math.min(options.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS);
  }

  /** True if the server will answer the same until a person has granted a right, or changed something else. */
  get isRefusal(): boolean {
    return this.kind === "forbidden" || this.kind === "refused";
  }
}

export interface ErrorAnswer {
  /** HTTP status; the code of the Status object wins. */
  readonly code: number;
  /** Body of the answer or object of the event: a Status if the server is one of Kubernetes. */
  readonly status: unknown;
  /** Header of the answer; not a number when it has no number of seconds. */
  readonly retryAfterSeconds?: number;
}

/** The failure that an error answer means. */
export function failureOfAnswer(request: ApiRequest, answer: ErrorAnswer): ApiFailure {
  const status = fieldsOf(answer.status);
  const code = typeof status["code"] === "number" ? status["code"] : answer.code;
  const message = textOf(status["message"]);
  const said = message === undefined ? `HTTP status ${code}` : `"${message.slice(0, QUOTE_LENGTH_MAX)}"`;
  const seconds = [answer.retryAfterSeconds, fieldsOf(status["details"])["retryAfterSeconds"]];
  const retryAfterMs = 1000 * Math.max(0, ...seconds.filter((value): value is number => Number.isFinite(value)));
  const isTooLarge = code === 413 || TOO_LARGE_FOR_ETCD.some((text) => message?.includes(text));
  const isContentRefused = isTooLarge || code === 422;
  const failure = (kind: FailureKind, reason: string): ApiFailure =>
    new ApiFailure(kind, request, reason, { retryAfterMs, isKindMissing: code === 404, isContentRefused });
  if (code === 410 || status["reason"] === "Expired" || status["reason"] === "Gone" || isVersionUnknown(status))
    return failure("expired", `the resource version is not available any more, the server says ${said}`);
  switch (code) {
    case 401:
      return failure("unauthorized", `the credentials are not accepted, the server says ${said}`);
    case 403:
      return failure(...denial(request, message, said));
    case 404:
      // Only then details name an object.
      if (textOf(fieldsOf(status["details"])["name"]) !== undefined)
        return new ApiFailure("absent", request, `the server says ${said}`);
      return failure("refused", `${missingKind(request.resource)}; the server says ${said}`);
    case 409:
      return failure("conflict", `the server says ${said}`);
    case 408:
    case 429:
      return failure("unavailable", `the server is busy, it says ${said}`);
    default:
      return failure(code >= 500 ? "unavailable" : "refused", `the server says ${said}`);
  }
}

/** The failure of a connection: refused, cut, not trusted, silent. An ApiFailure stays as it is. */
export function failureOfConnection(request: ApiRequest, server: string, cause: unknown): ApiFailure {
  if (cause instanceof ApiFailure) return cause;
  return new ApiFailure("unreachable", request, `no answer from ${server}: ${describeError(cause)}`, { cause });
}

/** After a restore from a backup the server may not have reached the requested version again. */
function isVersionUnknown({ message, details }: Mapping): boolean {
  const causes = mappingsOf(fieldsOf(details)["causes"]);
  return (
    causes.some(({ reason }) => reason === "ResourceVersionTooLarge") ||
    textOf(message)?.includes("Too large resource version") === true
  );
}

/** Kind and reason of a 403, which is the answer to a missing right and to what a quota or an admission plugin denies. */
function denial(request: ApiRequest, message: string | undefined, said: string): readonly [FailureKind, string] {
  const lacking = message === undefined ? undefined : LACKING_RIGHT.exec(message)?.[1];
  if (lacking !== undefined)
    return ["forbidden", `${missingRight(request)}; the server says "${lacking.slice(0, QUOTE_LENGTH_MAX)}"`];
  // Admission is for writes only.
  if (READS.has(request.verb)) return ["forbidden", `${missingRight(request)}; the server says ${said}`];
  if (message?.includes(LACKING_FINALIZERS) === true)
    return [
      "forbidden",
      `this account lacks the verb "update" on the finalizers of the owner, grant it with a role; the server says ${said}`,
    ];
  const denier = message?.includes("exceeded quota") === true ? "a quota of the namespace" : "the cluster's admission";
  return ["refused", `${denier} does not allow it; the server says ${said}`];
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
