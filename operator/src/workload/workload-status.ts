// The status of a RateLimitService from its Deployment, its pods, and their connections. Pure.
import type { RateLimitServiceStatus } from "@weir/crds/rate-limit-service/schema/schema";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, textOf } from "@weir/kubernetes/mapping";

import { podObstacles, type PodSurroundings } from "./pod-obstacles.ts";
import { conditionOf } from "./pods.ts";

/** Most names in a message. */
const NAMES_MAX = 3;

/** Why the operator does not roll out a resource. */
export interface WorkloadProblem {
  readonly reason: "InvalidSpec" | "FleetConflict" | "NameTaken" | "Refused";
  /** For people, without a full stop. */
  readonly message: string;
}

/** The facts from which a status is computed. `connected` has those of the own pods that are connected. */
export interface StatusFacts extends Omit<PodSurroundings, "nowMs"> {
  readonly generation: number;
  readonly fleet: string;
  /** Labels of the pods, as a selector. */
  readonly selector: string;
  /** Undefined: there is none. */
  readonly deployment: KubernetesObject | undefined;
  readonly pods: readonly KubernetesObject[];
  /** Names of the own pods that are ready and not ending. */
  readonly readyPods: readonly string[];
  /** Undefined: everything is rolled out as the resource says. */
  readonly problem: WorkloadProblem | undefined;
}

type Condition = NonNullable<RateLimitServiceStatus["conditions"]>[number];
type Finding = Pick<Condition, "type" | "status" | "reason" | "message">;

/** The status. `before` is the one that the resource has: times of conditions that stay are kept. */
export function workloadStatus(
  facts: StatusFacts,
  before: RateLimitServiceStatus | undefined,
  nowMs: number,
): RateLimitServiceStatus {
  const { generation, fleet, selector, readyPods, connected } = facts;
  const counts = fieldsOf(facts.deployment?.content["status"]);
  const findings = [available(facts), progressing(facts), degraded(facts, nowMs), connection(facts)];
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    observedGeneration: generation,
    replicas: numberOf(counts["replicas"]),
    readyReplicas: numberOf(counts["readyReplicas"]),
    connectedPods: readyPods.filter((name) => connected?.has(name)).length,
    selector,
    fleet,
    conditions: [ready(findings), ...findings].map((finding) => {
      const past = before?.conditions?.find(({ type }) => type === finding.type);
      const lastTransitionTime = past?.status === finding.status ? past.lastTransitionTime : now;
      return { ...finding, observedGeneration: generation, lastTransitionTime };
    }),
  };
}

/** Returns true if the controller of Deployments has seen this generation; only then are its counts about that. */
function isObserved(deployment: KubernetesObject): boolean {
  return numberOf(fieldsOf(deployment.content["status"])["observedGeneration"]) >= (deployment.generation ?? 0);
}

function available({ deployment, problem }: StatusFacts): Finding {
  const type = "Available";
  if (deployment === undefined)
    return { type, status: "False", reason: problem?.reason ?? "NoDeployment", message: "there are no pods" };
  const { wanted, readyReplicas } = countsOf(deployment);
  const isAvailable = conditionOf(deployment, "Available")?.["status"] === "True";
  const message = `${readyReplicas} of ${wanted} pods are ready`;
  return isAvailable
    ? { type, status: "True", reason: "PodsReady", message }
    : { type, status: "False", reason: "PodsNotReady", message };
}

function progressing({ deployment, problem }: StatusFacts): Finding {
  const type = "Progressing";
  if (problem !== undefined)
    return { type, status: "False", reason: problem.reason, message: `nothing is rolled out: ${problem.message}` };
  if (deployment === undefined)
    return { type, status: "True", reason: "RollingOut", message: "the Deployment is being made" };
  const { wanted, updatedReplicas } = countsOf(deployment);
  return isRolledOut(deployment)
    ? { type, status: "False", reason: "RolledOut", message: `all ${wanted} pods are as the resource says` }
    : {
        type,
        status: "True",
        reason: "RollingOut",
        message: `${isObserved(deployment) ? updatedReplicas : 0} of ${wanted} pods are as the resource says`,
      };
}

/** As `kubectl rollout status` decides it. */
function isRolledOut(deployment: KubernetesObject): boolean {
  const { wanted, replicas, updatedReplicas, availableReplicas } = countsOf(deployment);
  return isObserved(deployment) && [replicas, updatedReplicas, availableReplicas].every((count) => count === wanted);
}

function degraded({ deployment, pods, problem, ...surroundings }: StatusFacts, nowMs: number): Finding {
  const type = "Degraded";
  if (problem !== undefined) return { type, status: "True", reason: problem.reason, message: problem.message };
  const fine: Finding = { type, status: "False", reason: "AsExpected", message: "nothing is wrong" };
  if (deployment === undefined || isRolledOut(deployment)) return fine;
  const stuck = (message: string): Finding => ({ type, status: "True", reason: "RolloutStuck", message });
  // Pods that the API server refuses, because of a quota or a policy.
  const failure = conditionOf(deployment, "ReplicaFailure");
  if (failure?.["status"] === "True") return stuck(textOf(failure["message"]) ?? "pods are refused");
  const obstacles = podObstacles(pods, { ...surroundings, nowMs });
  const found = obstacles.find(({ isStuck }) => isStuck);
  if (found !== undefined) return stuck(found.text);
  const { wanted, updatedReplicas } = countsOf(deployment);
  if (fieldsOf(deployment.content["spec"])["paused"] === true && updatedReplicas < wanted) {
    const message = `the Deployment ${deployment.name} is paused: kubectl rollout resume deployment/${deployment.name} continues`;
    return { type, status: "True", reason: "RolloutPaused", message };
  }
  const rollout = conditionOf(deployment, "Progressing");
  if (rollout?.["status"] !== "False") return fine;
  return stuck(obstacles[0]?.text ?? textOf(rollout["message"]) ?? "the rollout takes too long");
}

function connection({ readyPods, connected }: StatusFacts): Finding {
  const type = "Connected";
  if (readyPods.length === 0) return { type, status: "False", reason: "NoReadyPods", message: "no pod is ready" };
  if (connected === undefined)
    return {
      type,
      status: "Unknown",
      reason: "ControlPlaneSilent",
      message: "not every replica of the control plane answers, and not all ready pods are connected to the others",
    };
  const missing = readyPods.filter((name) => !connected.has(name));
  if (missing.length === 0)
    return {
      type,
      status: "True",
      reason: "PodsConnected",
      message: `all ${readyPods.length} ready pods are connected`,
    };
  const names = missing.slice(0, NAMES_MAX).join(", ");
  const more = missing.length > NAMES_MAX ? ` and ${missing.length - NAMES_MAX} more` : "";
  return {
    type,
    status: "False",
    reason: "PodsNotConnected",
    message: `not connected to the control plane: ${names}${more}`,
  };
}

/** Available, rolled out, connected and not degraded. */
function ready(findings: readonly Finding[]): Finding {
  const type = "Ready";
  const bad = findings.filter(
    ({ type: about, status }) => status !== (about === "Degraded" || about === "Progressing" ? "False" : "True"),
  );
  const first = bad.find(({ type: about }) => about === "Degraded") ?? bad[0];
  if (first === undefined)
    return { type, status: "True", reason: "Ready", message: "all pods are as the resource says, ready and connected" };
  const status = bad.every((finding) => finding.status === "Unknown") ? "Unknown" : "False";
  return { type, status, reason: first.reason, message: first.message };
}

function countsOf({ content }: KubernetesObject) {
  const status = fieldsOf(content["status"]);
  return {
    wanted: numberOf(fieldsOf(content["spec"])["replicas"]),
    replicas: numberOf(status["replicas"]),
    readyReplicas: numberOf(status["readyReplicas"]),
    updatedReplicas: numberOf(status["updatedReplicas"]),
    availableReplicas: numberOf(status["availableReplicas"]),
  };
}

/** A count that the API leaves out when it is 0. */
function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
