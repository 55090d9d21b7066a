// Reads the readiness, the labels and the conditions of pods.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";

/** Returns true if the pod is ready, and not about to end. */
export function isReadyPod(pod: KubernetesObject): boolean {
  return !isEnding(pod) && conditionOf(pod, "Ready")?.["status"] === "True";
}

/** The value of a label; undefined when the object has none. */
export function labelOf({ content }: KubernetesObject, label: string): string | undefined {
  return textOf(fieldsOf(fieldsOf(content["metadata"])["labels"])[label]);
}

/** Returns true if the object has all of the labels. */
export function hasLabels(object: KubernetesObject, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(labels).every(([label, value]) => labelOf(object, label) === value);
}

/** Returns true if the object is being deleted. */
export function isEnding({ content }: KubernetesObject): boolean {
  return fieldsOf(content["metadata"])["deletionTimestamp"] !== undefined;
}

/** A condition of a pod, or of any object that has conditions; undefined when it has none of the type. */
export function conditionOf({ content }: KubernetesObject, type: string): Mapping | undefined {
  return mappingsOf(fieldsOf(content["status"])["conditions"]).find((condition) => condition["type"] === type);
}
