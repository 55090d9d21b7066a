// Checks a RateLimitConfig as an API server stores it: the one check of the control plane, which serves
// it, and of the operator, which reports what is wrong.
import type { ManifestProblem } from "../../schema/problems.ts";
import { API_VERSION, KIND, parseRateLimitConfigResource, type RateLimitConfigResource } from "../schema/schema.ts";
import { ruleProblems } from "../translate/translate.ts";

/** Most problems of one resource that are reported. */
const PROBLEMS_MAX = 100;

/** The copy of the object that kubectl adds: as long as the object itself, and not needed here. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** A valid resource, or its problems. */
export type CheckedObject =
  | { readonly ok: true; readonly resource: RateLimitConfigResource }
  | { readonly ok: false; readonly problems: readonly Pick<ManifestProblem, "path" | "message">[] };

/** Checks an object. */
export function checkStoredObject(content: Readonly<Record<string, unknown>>): CheckedObject {
  // Unknown fields come from a newer CustomResourceDefinition: the API server has accepted them.
  const parsed = parseRateLimitConfigResource(withoutStatus(content), { unknownFields: "ignore" });
  const found = parsed.ok ? ruleProblems(parsed.resource) : parsed.problems;
  if (parsed.ok && found.length === 0) return { ok: true, resource: parsed.resource };
  return { ok: false, problems: found.slice(0, PROBLEMS_MAX) };
}

/** The object without its status and annotations of tools; the items of a list may lack their kind. */
function withoutStatus(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { status: _status, ...rest } = content;
  const {
    managedFields: _managedFields,
    annotations,
    ...metadata
  } = content["metadata"] as Readonly<Record<string, unknown>>;
  const kept = typeof annotations === "object" && annotations !== null ? omit(annotations, LAST_APPLIED) : undefined;
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    ...rest,
    metadata: kept === undefined ? metadata : { ...metadata, annotations: kept },
  };
}

function omit(mapping: object, name: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => key !== name));
}
