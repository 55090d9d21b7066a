// The status of a resource, read from what the API server has. Everything may be missing, because
// another version may have written it. Pure.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import type { WeirKind } from "../cluster/weir-kinds.ts";

/** A condition of a status. */
export interface ShownCondition {
  readonly type: string;
  /** `True`, `False` or `Unknown`. */
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** Generation that it is about; undefined when it does not say. */
  readonly observedGeneration: number | undefined;
  /** When the status last changed, as written. */
  readonly since: string;
}

/** A resource, and whether it is ready in its current generation. */
export interface ResourceStatus {
  readonly kind: WeirKind;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number | undefined;
  readonly isDeleting: boolean;
  readonly ready: "True" | "False" | "Unknown";
  /** Why, in one word and in a sentence. */
  readonly reason: string;
  readonly message: string;
  readonly conditions: readonly ShownCondition[];
  /** The status as stored. */
  readonly status: Mapping;
}

/** Reads the status of an object. */
export function readResourceStatus(kind: WeirKind, object: KubernetesObject): ResourceStatus {
  const { namespace, name, generation, content } = object;
  const status = fieldsOf(content["status"]);
  const conditions = mappingsOf(status["conditions"]).map(readCondition);
  return {
    kind,
    namespace,
    name,
    generation,
    isDeleting: fieldsOf(content["metadata"])["deletionTimestamp"] !== undefined,
    ...summaryOf(kind, conditions, generation),
    conditions,
    status,
  };
}

/** The worst first: not ready, then unknown; among equals by namespace, name and kind. */
export function byUrgency(a: ResourceStatus, b: ResourceStatus): number {
  const urgency = { False: 0, Unknown: 1, True: 2 } as const;
  const key = ({ namespace, name, kind }: ResourceStatus): string => `${namespace}/${name}/${kind.shortName}`;
  return urgency[a.ready] - urgency[b.ready] || (key(a) < key(b) ? -1 : 1);
}

/** Returns true if a condition is about an earlier generation. */
export function isStale({ observedGeneration }: ShownCondition, generation: number | undefined): boolean {
  return observedGeneration !== undefined && generation !== undefined && observedGeneration < generation;
}

type Summary = Pick<ResourceStatus, "ready" | "reason" | "message">;

/** The first condition that is not as it should be; when all are, the condition Ready. */
function summaryOf(
  { expects }: WeirKind,
  conditions: readonly ShownCondition[],
  generation: number | undefined,
): Summary {
  const found = expects.map(([type, wanted]): Summary => {
    const condition = conditions.find((each) => each.type === type);
    if (condition === undefined) {
      const message = `no condition ${type} yet, is weir-operator running?`;
      return { ready: "Unknown", reason: "NoStatus", message };
    }
    const { status, reason, message, observedGeneration } = condition;
    if (isStale(condition, generation)) {
      const stale = `the status is about generation ${observedGeneration}, the present one is ${generation}`;
      return { ready: "Unknown", reason: "Stale", message: stale };
    }
    const isKnown = status === "True" || status === "False";
    return { ready: isKnown ? (status === wanted ? "True" : "False") : "Unknown", reason, message };
  });
  const bad = ["False", "Unknown"].map((ready) => found.find((each) => each.ready === ready));
  const first = bad.find((each) => each !== undefined);
  if (first !== undefined) return first;
  const { reason = "", message = "" } = conditions.find(({ type }) => type === "Ready") ?? found[0] ?? {};
  return { ready: "True", reason, message };
}

function readCondition(condition: Mapping): ShownCondition {
  const { observedGeneration } = condition;
  return {
    type: textOf(condition["type"]) ?? "",
    status: textOf(condition["status"]) ?? "Unknown",
    reason: textOf(condition["reason"]) ?? "",
    message: textOf(condition["message"]) ?? "",
    observedGeneration: typeof observedGeneration === "number" ? observedGeneration : undefined,
    since: textOf(condition["lastTransitionTime"]) ?? "",
  };
}
