// The messages of the API server to a webhook (admission.k8s.io/v1), and the answers. Pure.
import { mappingOf, type Mapping, textOf } from "@weir/kubernetes/mapping";

const API_VERSION = "admission.k8s.io/v1";
const KIND = "AdmissionReview";

/**
 * Most warnings of an answer, and the longest one in characters: the API server cuts longer ones, and
 * drops all after 4,096 characters.
 */
const WARNINGS_MAX = 10;
const WARNING_LENGTH_MAX = 256;

/** Most problems of an answer, and the longest one in characters. */
const PROBLEMS_MAX = 10;
const PROBLEM_LENGTH_MAX = 1000;

/** A change that the API server is about to make. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly group: string;
  readonly kind: string;
  /** The object as it would be; undefined for a DELETE. */
  readonly object: Mapping | undefined;
  /** The object as it is; undefined for a CREATE. */
  readonly oldObject: Mapping | undefined;
}

/** The problems and warnings that are found in an object. */
export interface Findings {
  /** The change is refused when there is one. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Reads the body of a request; `reason` says what is wrong with it. */
export function parseReview(body: string): { readonly request: AdmissionRequest } | { readonly reason: string } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { reason: "the body is not JSON" };
  }
  const review = mappingOf(value);
  if (review?.["apiVersion"] !== API_VERSION || review["kind"] !== KIND)
    return { reason: `the body is not an ${KIND} of ${API_VERSION}` };
  const request = mappingOf(review["request"]);
  const uid = textOf(request?.["uid"]);
  const kind = mappingOf(request?.["kind"]);
  if (request === undefined || uid === undefined) return { reason: "request.uid is missing" };
  const [group, name] = [kind?.["group"], textOf(kind?.["kind"])];
  if (typeof group !== "string" || name === undefined) return { reason: "request.kind is missing" };
  const [object, oldObject] = [request["object"], request["oldObject"]].map(mappingOf);
  return { request: { uid, group, kind: name, object, oldObject } };
}

/** The answer to a request. */
export function reviewAnswer({ uid }: AdmissionRequest, { problems, warnings }: Findings): object {
  const shown = bounded(warnings, WARNINGS_MAX, "warnings").map((warning) => cut(warning, WARNING_LENGTH_MAX));
  const message = bounded(problems, PROBLEMS_MAX, "problems")
    .map((problem) => cut(problem, PROBLEM_LENGTH_MAX))
    .join("\n");
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    response: {
      uid,
      allowed: problems.length === 0,
      ...(problems.length > 0 && { status: { code: 422, reason: "Invalid", message } }),
      ...(shown.length > 0 && { warnings: shown }),
    },
  };
}

/** The first texts; in place of the others one that counts them. */
function bounded(texts: readonly string[], max: number, what: string): readonly string[] {
  if (texts.length <= max) return texts;
  return [...texts.slice(0, max - 1), `${texts.length - max + 1} more ${what}`];
}

/** The text in one line, without control characters, of at most `max` characters. */
function cut(text: string, max: number): string {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").toWellFormed();
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`;
}
