// Finds the obstacles that keep pods from becoming ready, as far as their own statuses and the reports of
// the control plane show them: neither the logs of the pods nor their events and Secrets are read. Pure.
import { cutText } from "@weir/common/text/cut-text";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, type Mapping, mappingOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import { CONTAINER } from "./objects/workload.ts";
import { conditionOf, isEnding, isReadyPod } from "./pods.ts";

/**
 * How long a step of a start may take until the pod is stuck in it, in milliseconds. The status is computed
 * every two seconds, and is to say within fifteen what is wrong.
 */
const SLOW_MS = 10_000;

/** How often a container ends until it is stuck while it runs again: Kubernetes waits before the next start. */
const RESTARTS = 2;

/** Of the log of a container that has ended: the last lines, and their longest text, in bytes. */
const LAST_LINES = 3;
const LAST_LINES_MAX_BYTES = 1024;

/** States of a container that is on its way. */
const STARTING: ReadonlySet<unknown> = new Set(["ContainerCreating", "PodInitializing"]);

/** The facts about pods that their statuses do not have. */
export interface PodSurroundings {
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** Names of the pods that are connected to the control plane; undefined: not known. */
  readonly connected: ReadonlySet<string> | undefined;
  /** The Secrets that must be there to mount the volumes, for people; undefined: none. */
  readonly secrets: string | undefined;
  /** Why the operator does not keep the certificate that the pods mount, for people; undefined: it does. */
  readonly foreignCertificate: string | undefined;
  /** The counter store that pods wait for at their start, for people; undefined: none. */
  readonly store: string | undefined;
}

/** The obstacle that keeps one pod from becoming ready. */
export interface PodObstacle {
  /** Names the pod, without a full stop. */
  readonly text: string;
  /** True if it does not pass by itself: it is a failure, or takes longer than a start does. */
  readonly isStuck: boolean;
}

interface Found {
  /**
   * Since when, in milliseconds since the epoch; -Infinity for a failure, Infinity for a step of any length,
   * NaN when the pod does not say.
   */
  readonly sinceMs: number;
  readonly text: string;
}

/** The obstacles of the pods that are not ready, by name of the pod. */
export function podObstacles(pods: readonly KubernetesObject[], surroundings: PodSurroundings): readonly PodObstacle[] {
  return pods
    .filter((pod) => isExpected(pod))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .flatMap((pod) => {
      const found = obstacleOf(pod, surroundings);
      if (found === undefined) return [];
      return { text: `pod ${pod.name}: ${found.text}`, isStuck: surroundings.nowMs - found.sinceMs >= SLOW_MS };
    });
}

/** Returns true if the pod should become ready: one that was evicted stays, and another takes its place. */
function isExpected(pod: KubernetesObject): boolean {
  const { phase } = fieldsOf(pod.content["status"]);
  return !isReadyPod(pod) && !isEnding(pod) && phase !== "Failed" && phase !== "Succeeded";
}

function obstacleOf(pod: KubernetesObject, surroundings: PodSurroundings): Found | undefined {
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.["status"] === "False") return { sinceMs: timeOf(scheduled), text: sentenceOf(scheduled) };
  const status = fieldsOf(pod.content["status"]);
  const containers = [...mappingsOf(status["initContainerStatuses"]), ...mappingsOf(status["containerStatuses"])];
  const failed = containers.map((container) => failureOf(container)).find((found) => found !== undefined);
  if (failed !== undefined) return failed;
  if (conditionOf(pod, "PodReadyToStartContainers")?.["status"] === "False")
    return { sinceMs: timeOf(scheduled ?? {}), text: unmountedText(surroundings) };
  const starting = containers.find(({ state }) => STARTING.has(fieldsOf(fieldsOf(state)["waiting"])["reason"]));
  if (starting !== undefined) {
    const words = sentenceOf(fieldsOf(fieldsOf(starting["state"])["waiting"]));
    return { sinceMs: Infinity, text: `${words}: perhaps its image is being pulled` };
  }
  return unreadyOf(pod, containers, surroundings);
}

/** A pod whose containers run. */
function unreadyOf(
  pod: KubernetesObject,
  containers: readonly Mapping[],
  surroundings: PodSurroundings,
): Found | undefined {
  const ready = conditionOf(pod, "Ready") ?? {};
  const container = containers.find((each) => each["ready"] !== true && runningOf(each) !== undefined);
  if (container === undefined) return { sinceMs: timeOf(ready), text: sentenceOf(ready) };
  const startedMs = Date.parse(textOf(runningOf(container)?.["startedAt"]) ?? "");
  // One that was ready is not ready since a later time than that of its start.
  const sinceMs = Math.max(startedMs, timeOf(ready));
  const name = textOf(container["name"]);
  const text = name === CONTAINER ? notReadyText(pod.name, surroundings) : `its container ${name} is not ready`;
  return { sinceMs, text };
}

function runningOf({ state }: Mapping): Mapping | undefined {
  return mappingOf(fieldsOf(state)["running"]);
}

/** Why the container does not run, or ends again and again. */
function failureOf({ state, lastState, ready, restartCount }: Mapping): Found | undefined {
  const { waiting, running, terminated } = fieldsOf(state);
  const earlier = fieldsOf(fieldsOf(lastState)["terminated"]);
  const waitsFor = fieldsOf(waiting);
  const stuck = (text: string): Found => ({ sinceMs: -Infinity, text });
  // The words of Kubernetes about it are about its wait.
  if (waitsFor["reason"] === "CrashLoopBackOff") return stuck(`CrashLoopBackOff: ${endText(earlier)}`);
  if (waiting !== undefined && !STARTING.has(waitsFor["reason"])) return stuck(sentenceOf(waitsFor));
  const ended = fieldsOf(terminated);
  // Kubernetes starts it again immediately the first time.
  if (isFailure(ended)) return { sinceMs: Date.parse(textOf(ended["finishedAt"]) ?? ""), text: endText(ended) };
  const isAgain = running !== undefined && ready !== true && Number(restartCount) >= RESTARTS;
  return isAgain && isFailure(earlier) ? stuck(`CrashLoopBackOff: ${endText(earlier)}`) : undefined;
}

function isFailure({ exitCode }: Mapping): boolean {
  return typeof exitCode === "number" && exitCode !== 0;
}

/** How a container ended, with the end of its log, which the operator cannot read itself. */
function endText({ reason, exitCode, message }: Mapping): string {
  const lines = (textOf(message) ?? "").split("\n").filter((line) => line.trim() !== "");
  const words = cutText(lines.slice(-LAST_LINES).join("; "), LAST_LINES_MAX_BYTES);
  const known = textOf(reason);
  const end = `its container ended with exit code ${String(exitCode)}${known === undefined ? "" : ` (${known})`}`;
  return words === "" ? end : `${end}: ${words}`;
}

function unmountedText({ secrets, foreignCertificate }: PodSurroundings): string {
  if (secrets === undefined) return "it waits for its network";
  return withReason(`it waits for its volumes, which need ${secrets}`, foreignCertificate);
}

/** A pod connects to the control plane when its store has answered, and is ready when it has rules. */
function notReadyText(name: string, { connected, store, foreignCertificate }: PodSurroundings): string {
  if (connected === undefined) return "it runs and is not ready";
  const orStore = store === undefined ? "" : `${store} does not answer, or `;
  if (connected.has(name)) return `it runs and is not ready: ${orStore}it waits for its first rules`;
  return withReason(
    `it runs and is not connected to the control plane: ${orStore}the control plane is not reached or refuses it`,
    foreignCertificate,
  );
}

function withReason(text: string, reason: string | undefined): string {
  return reason === undefined ? text : `${text}; ${reason}`;
}

function sentenceOf({ reason, message }: Mapping): string {
  const texts = [textOf(reason), textOf(message)].filter((text) => text !== undefined);
  return texts.length === 0 ? "it waits" : texts.join(": ");
}

function timeOf({ lastTransitionTime }: Mapping): number {
  return Date.parse(textOf(lastTransitionTime) ?? "");
}
