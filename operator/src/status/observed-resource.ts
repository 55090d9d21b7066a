// The parts of a RateLimitConfig, as the API server has it, that its status needs.
import { describeError } from "@weir/common/errors/service-error";
import { checkStoredObject } from "@weir/crds/rate-limit-config/manifest/check-stored-object";
import type { RateLimitConfigStatus } from "@weir/crds/rate-limit-config/schema/status-schema";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, textOf } from "@weir/kubernetes/mapping";
import { fieldPath } from "@weir/limits/model/field-path";

/** A problem of a field. */
export interface StatusProblem {
  /** Path such as `spec.domain`; empty: the resource as a whole. */
  readonly field: string;
  readonly message: string;
}

/** A resource as the API server has it. */
export interface ObservedResource {
  readonly uid: string;
  readonly generation: number;
  /** undefined: it has none, or no text. */
  readonly domain: string | undefined;
  /** The fleets that it names; undefined: it is for every fleet. */
  readonly fleets: readonly string[] | undefined;
  /** True if it puts all its rules into shadow mode. */
  readonly shadowMode: boolean;
  /** The problems that the validator finds; empty when the spec is valid. */
  readonly problems: readonly StatusProblem[];
}

/** Reads and checks a resource. */
export function observe({ uid, generation = 0, content }: KubernetesObject): ObservedResource {
  const spec = fieldsOf(content["spec"]);
  const { fleets: named } = spec;
  const fleets = Array.isArray(named) ? named.filter((fleet) => typeof fleet === "string") : undefined;
  const shadowMode = spec["shadowMode"] === true;
  return { uid, generation, domain: textOf(spec["domain"]), fleets, shadowMode, problems: problemsOf(content) };
}

/** The status of an object; undefined when it has none. The API server has checked it by the schema. */
export function statusIn({ content }: KubernetesObject): RateLimitConfigStatus | undefined {
  const status = content["status"];
  return typeof status === "object" && status !== null ? status : undefined;
}

function problemsOf(content: KubernetesObject["content"]): readonly StatusProblem[] {
  try {
    const checked = checkStoredObject(content);
    return checked.ok ? [] : checked.problems.map(({ path, message }) => ({ field: fieldPath(path), message }));
  } catch (error) {
    return [{ field: "", message: `the object cannot be read: ${describeError(error)}` }];
  }
}
