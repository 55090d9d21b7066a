// Reconciles RateLimitServices: from the resource to its objects, and from these to its status and events.
import { parseRateLimitService, type RateLimitServiceResource, type RateLimitServiceStatus, SERVICE_KIND } from "@weir/crds/rate-limit-service/schema/schema";
import { checkEnvironment } from "@weir/crds/rate-limit-service/settings/check-environment";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectClient, ObjectWriter } from "@weir/kubernetes/client/object-client";
import { fieldsOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { isDeepStrictEqual } from "node:util";

import type { EventRecorder, EventText } from "../events/event-recorder.ts";
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { ObjectKey, ReconcileResult, Reconciler } from "../reconcile/reconciler.ts";
import { fleetConflict, fleetMemberOf } from "./fleet-members.ts";
import { apiVersionOf, OWNED_KIND_NAMES, type OwnedKindName, RATE_LIMIT_SERVICES } from "./owned-kinds.ts";
import { isReadyPod } from "./pods.ts";
import { MANAGED_LABEL, MANAGER, selectorOf, type Workload, type WorkloadOptions, workloadOf } from "./workload.ts";
import { replicasOf, WorkloadObjects } from "./workload-objects.ts";
import { isObserved, workloadStatus, type WorkloadProblem } from "./workload-status.ts";

/**
 * When a resource is looked at again, in milliseconds: connections come and go without a change of any
 * object. Sooner while something is missing.
 */
const AGAIN_MS = { settled: 30_000, unsettled: 2_000 } as const;

/** Says which pods are connected to the control plane. */
export interface PodConnections {
  /** Those of the named pods that are connected; undefined: no replica of the control plane answers. */
  connectedPods(namespace: string, names: readonly string[]): ReadonlySet<string> | undefined;
}

/** What the reconciler works with. */
export interface WorkloadReconcilerDeps {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly objects: ObjectWriter & Pick<ObjectClient, "get">;
  readonly services: ObjectLookup;
  /** The objects and pods with the label `app.kubernetes.io/managed-by: weir-operator`, by kind. */
  readonly owned: Readonly<Record<OwnedKindName, ObjectLookup>>;
  readonly pods: ObjectLookup;
  readonly connections: PodConnections;
  readonly events: Pick<EventRecorder, "record">;
}

/** The labels that select what the reconciler needs of owned kinds and of pods. */
export const OWNED_SELECTOR = `${MANAGED_LABEL}=${MANAGER}`;

/** Keeps the objects and statuses of RateLimitServices. */
export class WorkloadReconciler implements Reconciler {
  readonly name = "ratelimitservice";
  readonly #deps: WorkloadReconcilerDeps;
  readonly #options: WorkloadOptions;
  readonly #objects: WorkloadObjects;

  constructor(deps: WorkloadReconcilerDeps, options: WorkloadOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#objects = new WorkloadObjects(deps);
  }

  /** Calls `enqueue` from now on with each resource that a change may concern. */
  onChange(enqueue: (key: ObjectKey) => void): void {
    const { services, owned, pods } = this.#deps;
    services.onChange((before, after) => {
      for (const object of [before, after]) if (object !== undefined) this.#enqueueFleet(object, enqueue);
    });
    for (const kind of OWNED_KIND_NAMES) owned[kind].onChange((before, after) => enqueueOwner(after ?? before, enqueue));
    pods.onChange((before, after) => enqueueInstance(after ?? before, enqueue));
  }

  /** Brings one resource's objects and status into the state that is wanted. Fails with ApiFailure. */
  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const object = this.#deps.services.get(key);
    // What belongs to a deleted resource is deleted by Kubernetes.
    if (object === undefined || isEnding(object)) return {};
    const parsed = parseRateLimitService(object.content, { unknownFields: "ignore" });
    if (!parsed.ok) return {}; // The API server has checked it by another schema; nothing is known to be right.
    const { resource } = parsed;
    const workload = workloadOf(resource, object.uid, this.#options);
    let problem = this.#problemOf(object, resource);
    let deployment = this.#objects.deploymentOf(workload);
    if (problem === undefined) {
      const outcome = await this.#objects.ensure(workload, signal);
      if (outcome.kind === "written") {
        deployment = outcome.deployment;
        this.#recordScaling(object, outcome);
      } else {
        const message = `${outcome.taken} exists and belongs to another owner: delete it, or rename this resource`;
        problem = { reason: "NameTaken", message };
      }
    }
    const status = this.#statusOf(workload, resource, { deployment, problem });
    if (status === undefined) return { againAfterMs: AGAIN_MS.unsettled };
    await this.#writeStatus(object, resource.status, status, signal);
    const isSettled = status.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    return { againAfterMs: isSettled ? AGAIN_MS.settled : AGAIN_MS.unsettled };
  }

  #problemOf(object: KubernetesObject, { spec }: RateLimitServiceResource): WorkloadProblem | undefined {
    const [first] = checkEnvironment(spec).problems;
    if (first !== undefined) return { reason: "InvalidSpec", message: `${first.path.join(".")}: ${first.message}` };
    const owner = fleetConflict(object, this.#deps.services.list());
    if (owner === undefined) return undefined;
    const message = `fleet ${owner.fleet} belongs to the older RateLimitService ${owner.namespace}/${owner.name}`;
    return { reason: "FleetConflict", message };
  }

  /** Undefined: the controller of Deployments has not seen the present form of this one yet. */
  #statusOf(
    workload: Workload,
    resource: RateLimitServiceResource,
    { deployment, problem }: { deployment: KubernetesObject | undefined; problem: WorkloadProblem | undefined },
  ): RateLimitServiceStatus | undefined {
    const isEarly = deployment !== undefined && problem === undefined && !isObserved(deployment);
    if (isEarly && resource.status?.conditions !== undefined) return undefined;
    const { clock, connections } = this.#deps;
    const pods = this.#podsOf(workload);
    const readyPods = pods.filter((pod) => isReadyPod(pod)).map(({ name }) => name);
    const facts = {
      generation: resource.metadata.generation ?? 0,
      fleet: workload.fleet,
      selector: selectorText(workload),
      deployment,
      pods,
      readyPods,
      connected: connections.connectedPods(workload.namespace, readyPods),
      problem,
    };
    return workloadStatus(facts, resource.status, clock());
  }

  #podsOf({ namespace, name }: Workload): readonly KubernetesObject[] {
    const wanted = Object.entries(selectorOf({ name }));
    return this.#deps.pods.list(namespace).filter((pod) => {
      const labels = labelsIn(pod);
      return wanted.every(([label, value]) => labels[label] === value);
    });
  }

  async #writeStatus(
    { name, namespace, resourceVersion, ...object }: KubernetesObject,
    before: RateLimitServiceStatus | undefined,
    status: RateLimitServiceStatus,
    signal: AbortSignal,
  ): Promise<void> {
    if (isDeepStrictEqual(before, JSON.parse(JSON.stringify(status)))) return;
    const written = {
      apiVersion: apiVersionOf(RATE_LIMIT_SERVICES),
      kind: SERVICE_KIND,
      // Only the version that this status was computed from: a later reconcile knows more.
      metadata: { name, namespace, resourceVersion },
      status,
    };
    const options = { fieldManager: MANAGER, isForced: true, subresource: "status" };
    try {
      await this.#deps.objects.apply(RATE_LIMIT_SERVICES, written, options, signal);
    } catch (error) {
      // Its change brings it here again.
      if (error instanceof ApiFailure && error.kind === "conflict") return;
      throw error;
    }
    this.#recordProblem({ name, namespace, resourceVersion, ...object }, before, status);
  }

  #recordProblem(
    object: KubernetesObject,
    before: RateLimitServiceStatus | undefined,
    after: RateLimitServiceStatus,
  ): void {
    const degradedIn = (status: RateLimitServiceStatus | undefined) =>
      status?.conditions?.find(({ type, status: state }) => type === "Degraded" && state === "True");
    const [past, present] = [degradedIn(before), degradedIn(after)];
    if (present === undefined || past?.reason === present.reason) return;
    const { reason, message } = present;
    this.#record(object, { type: "Warning", reason, action: "Reconcile", note: message });
  }

  #recordScaling(
    object: KubernetesObject,
    { before, deployment }: { readonly before: KubernetesObject | undefined; readonly deployment: KubernetesObject },
  ): void {
    const [from, to] = [before && replicasOf(before), replicasOf(deployment)];
    if (from === undefined || from === to) return;
    const note = `from ${from} to ${to} pods`;
    this.#record(object, { type: "Normal", reason: "Scaled", action: "Scale", note });
  }

  #record({ name, namespace, uid }: KubernetesObject, event: EventText): void {
    const regarding = { apiVersion: apiVersionOf(RATE_LIMIT_SERVICES), kind: SERVICE_KIND, name, namespace, uid };
    this.#deps.events.record(regarding, event);
  }

  /** The resource, and all that name the same fleet: its owner may be another one now. */
  #enqueueFleet(object: KubernetesObject, enqueue: (key: ObjectKey) => void): void {
    const { fleet } = fleetMemberOf(object);
    enqueue({ namespace: object.namespace, name: object.name });
    for (const other of this.#deps.services.list())
      if (other.uid !== object.uid && fleetMemberOf(other).fleet === fleet)
        enqueue({ namespace: other.namespace, name: other.name });
  }
}

function enqueueOwner(object: KubernetesObject | undefined, enqueue: (key: ObjectKey) => void): void {
  const owners = mappingsOf(fieldsOf(object?.content["metadata"])["ownerReferences"]);
  const name = textOf(owners.find(({ kind }) => kind === SERVICE_KIND)?.["name"]);
  if (object !== undefined && name !== undefined) enqueue({ namespace: object.namespace, name });
}

function enqueueInstance(pod: KubernetesObject | undefined, enqueue: (key: ObjectKey) => void): void {
  const name = pod && textOf(labelsIn(pod)["app.kubernetes.io/instance"]);
  if (pod !== undefined && name !== undefined) enqueue({ namespace: pod.namespace, name });
}

function labelsIn({ content }: KubernetesObject): Readonly<Record<string, unknown>> {
  return fieldsOf(fieldsOf(content["metadata"])["labels"]);
}

function isEnding({ content }: KubernetesObject): boolean {
  return fieldsOf(content["metadata"])["deletionTimestamp"] !== undefined;
}

function selectorText(workload: Workload): string {
  return Object.entries(selectorOf(workload))
    .map(([label, value]) => `${label}=${value}`)
    .join(",");
}
