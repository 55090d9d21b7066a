// What the pods of a workload say: which are ready, and what keeps one from it.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";

/** Whether the pod is ready, and not about to end. */
export function isReadyPod({ content }: KubernetesObject): boolean {
  const isEnding = fieldsOf(content["metadata"])["deletionTimestamp"] !== undefined;
  return !isEnding && conditionsOf(content).some(({ type, status }) => type === "Ready" && status === "True");
}

/**
 * What keeps the first of the pods, by name, from running, in the words of Kubernetes; undefined when
 * nothing is known.
 */
export function stuckPodOf(pods: readonly KubernetesObject[]): string | undefined {
  return pods
    .filter((pod) => !isReadyPod(pod))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .map((pod) => {
      const reason = obstacleOf(pod.content);
      return reason === undefined ? undefined : `pod ${pod.name}: ${reason}`;
    })
    .find((text) => text !== undefined);
}

function obstacleOf(content: Mapping): string | undefined {
  const unscheduled = conditionsOf(content).find(({ type, status }) => type === "PodScheduled" && status === "False");
  if (unscheduled !== undefined) return sentenceOf(unscheduled);
  const containers = mappingsOf(fieldsOf(content["status"])["containerStatuses"]);
  const states = containers.flatMap(({ state, lastState }) => [
    fieldsOf(state)["waiting"],
    fieldsOf(state)["terminated"],
    fieldsOf(lastState)["terminated"],
  ]);
  return states.map((state) => sentenceOf(fieldsOf(state))).find((text) => text !== undefined);
}

function sentenceOf({ reason, message }: Mapping): string | undefined {
  const texts = [textOf(reason), textOf(message)].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join(": ");
}

function conditionsOf(content: Mapping): readonly Mapping[] {
  return mappingsOf(fieldsOf(content["status"])["conditions"]);
}
